"""Lists, counts and filters of schedules; their memo and search attributes."""

import datetime as dt

import pytest
from payloads import memo, search_attributes, value
from refusals import refused
from temporalio.api.common.v1 import Memo, SearchAttributes
from temporalio.api.workflowservice import v1 as api
from temporalio.client import ScheduleIntervalSpec, ScheduleSpec, ScheduleUpdate
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes
from waiting import until

import flows
from scheduled import CALL, Scheduled

HOURLY = ScheduleSpec(intervals=[ScheduleIntervalSpec(every=dt.timedelta(hours=1))])
KEYWORD = SearchAttributeKey.for_keyword("CustomKeywordField")
NUMBER = SearchAttributeKey.for_int("CustomIntField")


async def listed(scheduled, query: str, page_size: int = 100) -> list[str]:
    """The ids, over all pages."""
    found = await scheduled.client.list_schedules(query, page_size=page_size)
    return sorted([one.id async for one in found])


async def until_listed(scheduled, query: str, ids: list[str]):
    """Temporal's lists come a little after what they tell."""

    async def ask():
        return await listed(scheduled, query)

    await until(ask, lambda found: found == sorted(ids))


async def entry(scheduled):
    """The schedule's own entry in a list."""

    async def ask():
        return [one async for one in await scheduled.client.list_schedules(f"ScheduleId = '{scheduled.id}'")]

    [one] = await until(ask)
    return one


async def until_attributes(scheduled, holds):
    async def ask():
        return (await scheduled.handle.describe()).typed_search_attributes

    await until(ask, holds)


def tagged(keyword: str, number: int = 1) -> dict:
    pairs = [SearchAttributePair(KEYWORD, keyword), SearchAttributePair(NUMBER, number)]
    return {"search_attributes": TypedSearchAttributes(pairs)}


@pytest.fixture
async def three(client, name, task_queue):
    """Three schedules that share a keyword, and whose numbers are 1 to 3."""
    made = [Scheduled(client, f"{name}-{n}", task_queue) for n in (1, 2, 3)]
    for n, one in enumerate(made, 1):
        await one.create(HOURLY, options=tagged(name, n))
    await until_listed(made[0], f"CustomKeywordField = '{name}'", [one.id for one in made])
    yield made
    for one in made:
        await one.remove()


async def test_an_entry_tells_the_schedule_in_short(scheduled):
    options = tagged("short") | {"memo": {"key": "kept"}}
    await scheduled.create(HOURLY, scheduled.action(flows.Returns.run), options=options, note="why", paused=True)
    one = await entry(scheduled)
    assert one.schedule.action.workflow == "Returns"
    assert one.schedule.spec.intervals[0].every == dt.timedelta(hours=1)
    assert (one.schedule.state.note, one.schedule.state.paused) == ("why", True)
    assert await one.memo() == {"key": "kept"}
    assert one.typed_search_attributes[KEYWORD] == "short"
    assert one.info.recent_actions == []


async def test_an_entry_shows_five_future_times(scheduled):
    await scheduled.create(HOURLY)
    one = await entry(scheduled)
    described = (await scheduled.handle.describe()).info.next_action_times
    assert list(one.info.next_action_times) == described[:5]


async def test_an_entry_shows_the_last_five_actions(scheduled):
    await scheduled.create(HOURLY, scheduled.action(flows.Returns.run))
    runs = []
    for _ in range(6):
        runs.append(await scheduled.trigger("ALLOW_ALL"))
        await scheduled.until_status(runs[-1], "COMPLETED")

    async def ask():
        return [action.action.workflow_id for action in (await entry(scheduled)).info.recent_actions]

    await until(ask, lambda shown: shown == runs[-5:])


async def test_a_filter_by_schedule_id(three):
    one, two, _ = three
    await until_listed(one, f"ScheduleId = '{two.id}'", [two.id])
    await until_listed(one, f"ScheduleId IN ('{one.id}', '{two.id}', 'none')", [one.id, two.id])
    await until_listed(one, f"ScheduleId STARTS_WITH '{one.id[:-2]}'", [each.id for each in three])
    await until_listed(one, "ScheduleId = 'none'", [])


async def test_a_filter_by_custom_attributes(three):
    one, two, three_ = three
    mine = f"CustomKeywordField = '{one.id[:-2]}'"
    await until_listed(one, f"{mine} AND CustomIntField > 1", [two.id, three_.id])
    await until_listed(one, f"{mine} AND CustomIntField BETWEEN 1 AND 2", [one.id, two.id])
    await until_listed(one, f"{mine} AND (CustomIntField = 1 OR CustomIntField = 3)", [one.id, three_.id])
    await until_listed(one, f"{mine} AND CustomDoubleField IS NULL", [each.id for each in three])
    await until_listed(one, f"{mine} AND CustomDoubleField IS NOT NULL", [])


async def test_a_filter_by_paused(three):
    one, two, three_ = three
    await two.handle.pause()
    mine = f"CustomKeywordField = '{one.id[:-2]}'"
    await until_listed(one, f"{mine} AND TemporalSchedulePaused = true", [two.id])
    await until_listed(one, f"{mine} AND TemporalSchedulePaused = false", [one.id, three_.id])
    await two.handle.unpause()
    await until_listed(one, f"{mine} AND TemporalSchedulePaused = true", [])


async def test_a_deleted_schedule_is_not_listed(three):
    one, two, three_ = three
    await two.remove()
    await until_listed(one, f"CustomKeywordField = '{one.id[:-2]}'", [one.id, three_.id])


async def test_schedules_are_counted_by_filter(three):
    one = three[0]

    async def count(query):
        request = api.CountSchedulesRequest(namespace=one.namespace, query=query)
        return (await one.service.count_schedules(request, timeout=CALL)).count

    mine = f"CustomKeywordField = '{one.id[:-2]}'"
    assert await count(mine) == 3
    assert await count(f"{mine} AND CustomIntField < 3") == 2
    assert await count("ScheduleId = 'none'") == 0


async def test_a_list_comes_in_pages(three):
    one = three[0]
    seen, sizes, token = [], [], b""
    while True:
        request = api.ListSchedulesRequest(
            namespace=one.namespace,
            maximum_page_size=2,
            next_page_token=token,
            query=f"CustomKeywordField = '{one.id[:-2]}'",
        )
        page = await one.service.list_schedules(request, timeout=CALL)
        seen += [each.schedule_id for each in page.schedules]
        sizes.append(len(page.schedules))
        token = page.next_page_token
        if not token:
            break
    assert sorted(seen) == [each.id for each in three]
    assert sizes == [2, 1]


async def test_a_list_without_a_filter_has_all(three):
    found = await listed(three[0], "", page_size=1_000)
    assert {one.id for one in three} <= set(found)


async def test_a_filter_that_cannot_be_read_is_refused(scheduled):
    for query in ["ScheduleId =", "NoSuchAttribute = 1"]:
        request = api.ListSchedulesRequest(namespace=scheduled.namespace, query=query)
        answer = await refused(scheduled.service.list_schedules(request, timeout=CALL))
        assert answer.code == "INVALID_ARGUMENT"


async def test_schedules_are_not_among_the_workflows(scheduled):
    await scheduled.create(options=tagged(scheduled.id))
    await entry(scheduled)
    assert (await scheduled.client.count_workflows(f"CustomKeywordField = '{scheduled.id}'")).count == 0


async def test_describe_tells_memo_and_search_attributes(scheduled):
    handle = await scheduled.create(options=tagged("told", 7) | {"memo": {"a": 1, "b": [2]}})
    description = await handle.describe()
    assert await description.memo() == {"a": 1, "b": [2]}
    assert description.typed_search_attributes[KEYWORD] == "told"
    assert description.typed_search_attributes[NUMBER] == 7


async def test_empty_fields_of_a_schedule_are_none(scheduled):
    await scheduled.create_raw(
        memo=memo(a=None, b=[], c=1), search_attributes=search_attributes(CustomKeywordField=[], CustomIntField=7)
    )
    description = await scheduled.handle.describe()
    assert await description.memo() == {"c": 1}
    assert dict(description.search_attributes) == {"CustomIntField": [7]}


async def test_a_schedule_has_its_attributes_and_not_its_actions(scheduled):
    of_the_action = TypedSearchAttributes([SearchAttributePair(KEYWORD, "action")])
    action = scheduled.action(typed_search_attributes=of_the_action)
    await scheduled.create(action=action, options=tagged("schedule"))
    assert (await scheduled.handle.describe()).typed_search_attributes[KEYWORD] == "schedule"
    await until_listed(scheduled, f"ScheduleId = '{scheduled.id}' AND CustomKeywordField = 'action'", [])


async def test_an_update_that_says_nothing_of_search_attributes_keeps_them(scheduled):
    await scheduled.create(options=tagged("kept"))
    await scheduled.update_raw()
    assert (await scheduled.handle.describe()).typed_search_attributes[KEYWORD] == "kept"
    await until_listed(scheduled, f"ScheduleId = '{scheduled.id}' AND CustomKeywordField = 'kept'", [scheduled.id])


async def test_an_update_with_empty_search_attributes_clears_them(scheduled):
    await scheduled.create(options=tagged("cleared"))
    await scheduled.update_raw(search_attributes=SearchAttributes())
    await until_attributes(scheduled, lambda told: KEYWORD not in told)
    await until_listed(scheduled, f"ScheduleId = '{scheduled.id}' AND CustomKeywordField = 'cleared'", [])


async def test_an_update_replaces_search_attributes(scheduled):
    await scheduled.create(options=tagged("old"))
    await scheduled.handle.update(
        lambda given: ScheduleUpdate(
            schedule=given.description.schedule,
            search_attributes=TypedSearchAttributes([SearchAttributePair(KEYWORD, "new")]),
        )
    )
    await until_attributes(scheduled, lambda told: told.get(KEYWORD) == "new" and NUMBER not in told)
    await until_listed(scheduled, f"ScheduleId = '{scheduled.id}' AND CustomKeywordField = 'new'", [scheduled.id])


async def test_an_update_that_says_nothing_of_the_memo_keeps_it(scheduled):
    await scheduled.create_raw(memo=memo(key="kept"))
    await scheduled.update_raw()
    assert value((await scheduled.describe()).memo.fields["key"]) == "kept"


@pytest.mark.differs_from_temporal("its schedules that are workflows cannot change their memo")
async def test_an_update_with_a_memo_replaces_it(scheduled):
    await scheduled.create_raw(memo=memo(key="old", other="gone"))
    await scheduled.update_raw(memo=memo(key="new"))
    fields = (await scheduled.describe()).memo.fields
    assert {key: value(field) for key, field in fields.items()} == {"key": "new"}
    await scheduled.update_raw(memo=Memo())
    assert not (await scheduled.describe()).memo.fields


async def test_an_unknown_search_attribute_is_refused(scheduled):
    answer = await refused(scheduled.create_raw(search_attributes=search_attributes(NoSuchAttribute=1)))
    assert answer.code == "INVALID_ARGUMENT"
    assert "NoSuchAttribute" in answer.message
    assert (await refused(scheduled.describe())).code == "NOT_FOUND"
