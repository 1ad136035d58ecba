"""Every operation of the OpenAPI document, called with whatever its schemas allow and some of what they don't.

Nothing may be the server's own fault, and every answer has to match its schema.
"""

import pytest
import pytest_asyncio
import schemathesis
from dev_server import DevServer
from http_client import Http
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from ports import free_port
from requests.exceptions import RequestException
from schemathesis import GenerationMode
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance

EXAMPLES_A_MODE = 3

CHECKS = [content_type_conformance, response_schema_conformance]

# There is such a workflow and such a schedule.
KNOWN = "known"

# What isn't implemented says so; a query that no worker answers ends with the caller's patience.
NO_FAULT = {501, 504}

# So that polls end at once.
PATIENCE = {"Grpc-Timeout": "1S"}

pytestmark = pytest.mark.differs_from_temporal("its document and its answers are its own affair")


@pytest_asyncio.fixture(scope="module")
async def attacked(tmp_path_factory):
    """A server of its own: what is called here deletes namespaces."""
    database = str(tmp_path_factory.mktemp("attacked") / "attacked.db")
    server = DevServer(free_port(), database, http_port=free_port())
    await server.start()
    http = Http(server.http_port)
    start = {"workflowType": {"name": "Order"}, "taskQueue": {"name": KNOWN}}
    http.post(f"/api/v1/namespaces/default/workflows/{KNOWN}", start).done()
    action = {"startWorkflow": {"workflowId": KNOWN, **start}}
    schedule = {"spec": {"interval": [{"interval": "3600s"}]}, "action": action}
    create = {"requestId": "create", "schedule": schedule}
    http.post(f"/api/v1/namespaces/default/schedules/{KNOWN}", create).done()
    yield http
    # It has come through.
    http.get("/api/v1/system-info").done()
    server.stop()


@pytest.fixture(scope="module")
def document(attacked):
    document = schemathesis.openapi.from_url(f"{attacked.base}/openapi.json")
    document.hook("map_path_parameters")(in_a_known_place)
    document.hook("map_body")(about_something_known)
    # The older paths lead to the same RPCs.
    return document.include(path_regex="^/api/")


def in_a_known_place(context, path_parameters):
    """Half of the ids are known ones: strange ones are found out early."""
    if not path_parameters:
        return path_parameters
    placed = dict(path_parameters)
    for name, value in path_parameters.items():
        if name == "namespace":
            placed[name] = "default"
        elif name in ("workflow_id", "schedule_id") and len(str(value)) % 2:
            placed[name] = KNOWN
    return placed


def about_something_known(context, body):
    if isinstance(body, dict) and "namespace" in body:
        return {**body, "namespace": "default"}
    return body


def test_every_operation_answers_as_its_schema_says(document):
    operations = [described.ok() for described in document.get_all_operations()]
    assert len(operations) > 130
    faults = []
    for operation in operations:
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            try:
                attack(operation, mode)
            except Unsatisfiable:
                # Nothing can be wrong about a request that has no parameters.
                assert mode is GenerationMode.NEGATIVE
            # A connection that breaks is a server that fell over.
            except (AssertionError, FailureGroup, RequestException) as fault:
                faults.append(f"{operation.label}: {describe(fault)}")
    assert not faults, "\n\n".join(faults)


def attack(operation, mode: GenerationMode):
    @settings(
        max_examples=EXAMPLES_A_MODE,
        deadline=None,
        database=None,
        # The same calls every time, and the first that fails is told as it is.
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def call(case):
        answer = case.call(headers=PATIENCE)
        is_fault = answer.status_code >= 500 and answer.status_code not in NO_FAULT
        assert not is_fault, f"{answer.status_code}: {answer.text} for {case.as_curl_command()}"
        case.validate_response(answer, checks=CHECKS)

    call()


def describe(fault: BaseException) -> str:
    return "; ".join(map(str, getattr(fault, "exceptions", [fault])))
