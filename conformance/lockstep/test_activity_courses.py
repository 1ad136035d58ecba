"""Timeouts, retries and heartbeats of activities end as on the real server, whatever they are combined with."""

import activity_courses
from comparing import differences

COURSES = 16


async def test_activities_end_as_on_the_real_server(clients, rng):
    courses = [activity_courses.course(rng) for _ in range(COURSES)]
    found = await differences(clients, activity_courses.take, courses, at_once=COURSES)
    assert not found, "\n".join(found)
