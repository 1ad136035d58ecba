"""Random courses of clients and a worker give the same histories, responses and descriptions as on Temporal's server."""

import workflow_courses
from comparing import differences

COURSES = 16
AT_ONCE = 6


async def test_workflows_go_as_on_the_real_server(clients, rng):
    courses = [workflow_courses.course(rng) for _ in range(COURSES)]
    found = await differences(clients, workflow_courses.take, courses, AT_ONCE)
    assert not found, "\n".join(found)
