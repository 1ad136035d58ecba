"""Removes generated ids and times from responses, so that two servers can be compared."""

import re
from typing import Any

# Values under these keys are made up by the server or are times. That they are there is compared.
MADE_UP = {
    "actionTime",
    "actualTime",
    "closeTime",
    "clusterId",
    "conflictToken",
    "createTime",
    "currentAttemptScheduledTime",
    "earliestTime",
    "eventTime",
    "executionDuration",
    "executionTime",
    "expirationTime",
    "failoverVersion",
    "firstExecutionRunId",
    "historySizeBytes",
    "jobId",
    "lastAccessTime",
    "latestTime",
    "nextPageToken",
    "newExecutionRunId",
    "originalExecutionRunId",
    "originalScheduledTime",
    "persistenceStore",
    "requestId",
    "runId",
    "scheduledTime",
    "scheduleTime",
    "serverVersion",
    "startRequestId",
    "startTime",
    "taskId",
    "updateTime",
    "workflowTaskCompletedEventId",
}

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def normal(body: Any, dropped: frozenset[str] = frozenset()) -> Any:
    """The same for two answers that say the same. Keys in `dropped` are left out altogether."""
    if isinstance(body, dict):
        return {
            key: f"<{key}>" if key in MADE_UP else normal(value, dropped)
            for key, value in sorted(body.items())
            if key not in dropped
        }
    if isinstance(body, list):
        return [normal(value, dropped) for value in body]
    if isinstance(body, str):
        return TIME.sub("<time>", UUID.sub("<uuid>", body))
    return body
