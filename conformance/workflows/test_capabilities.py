"""The capabilities that the server announces to clients."""

import re

from temporalio.api.workflowservice import v1 as api

from dev_server import NAMESPACE
from refusals import refused
from scene import CALL

SYSTEM = [
    "signal_and_query_header",
    "internal_error_differentiation",
    "activity_failure_include_heartbeat",
    "encoded_failure_attributes",
    "upsert_memo",
    "eager_workflow_start",
    "sdk_metadata",
    "count_group_by_execution_status",
    "build_id_based_versioning",
]

OF_A_NAMESPACE = ["eager_workflow_start", "sync_update", "async_update", "workflow_task_completion_pagination"]

SEMVER = re.compile(r"\d+\.\d+\.\d+.*")


async def test_system_info_says_what_works(client):
    info = await client.workflow_service.get_system_info(api.GetSystemInfoRequest(), timeout=CALL)
    assert SEMVER.fullmatch(info.server_version)
    assert [name for name in SYSTEM if not getattr(info.capabilities, name)] == []


async def test_cluster_info_names_the_server(client):
    info = await client.workflow_service.get_cluster_info(api.GetClusterInfoRequest(), timeout=CALL)
    assert SEMVER.fullmatch(info.server_version)
    assert info.cluster_id
    assert info.cluster_name
    assert info.history_shard_count >= 1
    assert info.persistence_store in ("sqlite", "postgres12")
    assert "temporal-python" in info.supported_clients or info.supported_clients


async def test_a_namespace_says_what_works(client):
    request = api.DescribeNamespaceRequest(namespace=NAMESPACE)
    info = (await client.workflow_service.describe_namespace(request, timeout=CALL)).namespace_info
    assert [name for name in OF_A_NAMESPACE if not getattr(info.capabilities, name)] == []
    assert info.limits.blob_size_limit_error == 2_097_152
    assert info.limits.memo_size_limit_error == 2_097_152
    assert info.limits.workflow_task_completion_size_limit_error == 41_943_040


async def test_the_health_service_says_serving(client):
    assert await client.service_client.check_health()


async def test_an_unknown_service_has_no_health(client):
    answer = await refused(client.service_client.check_health(service="nobody.Service"))
    assert answer.code == "NOT_FOUND"


async def test_search_attributes_are_listed_by_type(client):
    answer = await client.workflow_service.get_search_attributes(api.GetSearchAttributesRequest(), timeout=CALL)
    assert "WorkflowId" in answer.keys
