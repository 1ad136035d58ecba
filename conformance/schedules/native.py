"""A client of Perennial's own schedule service, built from the server's gRPC reflection."""

import grpc
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message_factory import GetMessageClass
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase

SERVICE = "perennial.v1.ScheduleService"
CALL_SECONDS = 10


class Native:
    """Calls with JSON's idea of the messages: fields by the names the `.proto` files give them."""

    def __init__(self, address: str, namespace: str, schedule_id: str):
        self._channel = grpc.insecure_channel(address)
        pool = DescriptorPool(ProtoReflectionDescriptorDatabase(self._channel))
        self._methods = pool.FindServiceByName(SERVICE).methods_by_name
        self._target = {"namespace": namespace, "schedule_id": schedule_id}

    def call(self, method: str, **fields) -> dict:
        """About the schedule, unless a field says otherwise."""
        described = self._methods[method]
        known = {field.name for field in described.input_type.fields}
        target = {name: value for name, value in self._target.items() if name in known}
        request = ParseDict(target | fields, GetMessageClass(described.input_type)())
        response = GetMessageClass(described.output_type)
        ask = self._channel.unary_unary(
            f"/{SERVICE}/{method}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=response.FromString,
        )
        answer = ask(request, timeout=CALL_SECONDS)
        return MessageToDict(answer, preserving_proto_field_name=True)

    def close(self):
        self._channel.close()
