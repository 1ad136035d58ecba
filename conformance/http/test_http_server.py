"""Namespaces, search attributes, task queues and the server itself over HTTP, as Temporal's."""

# What a server can do, and what it is.
ABOUT_ITSELF = ["capabilities", "supportedClients"]


def test_namespace_is_registered_updated_and_described(both, name):
    register = {"namespace": name, "workflowExecutionRetentionPeriod": "86400s", "description": "d"}
    both.same("POST", "/api/v1/namespaces", register)
    # Ours is in no cluster, so there is nothing to say about copying it.
    replication = [*ABOUT_ITSELF, "state"]
    update = {"updateInfo": {"description": "e", "data": {"k": "v"}}, "config": {}}
    both.same("POST", f"/api/v1/namespaces/{name}/update", update, dropped=replication)
    for path in ("/api/v1/namespaces", "/cluster/namespaces"):
        described = both.same("GET", f"{path}/{name}", dropped=[*replication, "id"]).done()
        assert described["namespaceInfo"]["description"] == "e"
    assert both.same("POST", "/api/v1/namespaces", register).code == 409
    assert both.same("GET", f"/api/v1/namespaces/{name}-missing").code == 404
    both.same("POST", "/api/v1/namespaces", {"namespace": f"{name}-2"})


def test_search_attributes_are_listed(both):
    # One belongs to worker versioning, one to labels, which only Perennial has.
    of_one = ["TemporalUsedWorkerDeploymentVersions", "PerennialLabels"]
    listed = both.same("GET", "/api/v1/namespaces/default/search-attributes", dropped=of_one).done()
    assert listed["customAttributes"]["CustomIntField"] == "INDEXED_VALUE_TYPE_INT"


def test_server_tells_what_it_is(both):
    for path in ("/api/v1/cluster-info", "/cluster"):
        assert both.same("GET", path, dropped=ABOUT_ITSELF).done()["clusterName"] == "active"
    for path in ("/api/v1/system-info", "/system-info"):
        both.same("GET", path, dropped=ABOUT_ITSELF)


def test_task_queue_is_described(both, name):
    path = f"/api/v1/namespaces/default/task-queues/{name}?taskQueueType=TASK_QUEUE_TYPE_WORKFLOW"
    # Ours limits no rates by itself.
    both.same("GET", path, dropped=["effectiveRateLimit", "updateTime"])
