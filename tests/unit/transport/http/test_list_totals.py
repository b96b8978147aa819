"""What lists say of themselves: how many match, and whether more follows (HTTP binding, 17.2)."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.services.events import events_of
from ojs_aws.services.events.commit import Commit
from ojs_aws.services.jobs import job_lists
from tests.api import Api
from tests.simulation.world import FIRST_EVENT, World, count_changes

QUEUES = ("a", "b", "c")


@pytest.fixture
def world() -> World:
    """Three queues, and an empty one before and behind them."""
    world = World()
    for queue in ("0", *QUEUES, "z"):
        world.registry.ensure(queue, world.clock.now())
    return world


def die(api: Api, queue: str) -> None:
    """Push a job and let it become a dead letter."""
    retry = {"max_attempts": 1, "on_exhaustion": "dead_letter"}
    job_id = api.push(queue=queue, type="mail.send", retry=retry)
    api.post("/workers/fetch", {"queues": [queue], "worker_id": "w"})
    api.post("/workers/nack", {"job_id": job_id, "error": {"type": "Broken", "message": "m"}})


def fill(api: Api, path: str, world: World) -> int:
    """Put six entries into a list, two of each queue where it has queues; return how many."""
    for number in range(6):
        queue = QUEUES[number % 3]
        if path == "/dead-letter":
            die(api, queue)
        elif path == "/workflows":
            steps = [{"id": "a", "type": "a.b", "args": []}]
            api.post("/workflows", {"name": "w", "steps": steps})
        elif path == "/rate-limits":
            api.send("PUT", f"/ojs/v1/rate-limits/key-{number}", {"concurrency": 1})
        elif path == "/events":
            after = world.stored.jobs[api.push(queue=queue)]
            now = world.clock.now()
            world.events.append(events_of(None, after, Commit(now)), now)
        elif path == "/cron":
            api.post(
                "/cron", {"name": f"c{number}", "cron": "0 3 * * *", "type": "a.b", "args": []}
            )
        else:
            api.push(queue=queue, type="mail.send")
        world.clock.advance(s=1)
    return len(world.published()) if path == "/events" else 6


def pages(api: Api, path: str, **query: str) -> list[dict[str, Any]]:
    """All pages of a list, one after the other."""
    found = [api.get(path, query=query).json]
    while found[-1]["pagination"]["has_more"]:
        cursor = found[-1]["pagination"]["next_cursor"]
        found.append(api.get(path, query={**query, "cursor": cursor}).json)
        assert len(found) < 20
    return found


def entries(page: dict[str, Any]) -> list[Any]:
    """The entries of a page, whatever they are called."""
    names = ("items", "jobs", "workflows", "events", "rate_limits")
    return next(page[name] for name in names if name in page)


def is_true(page: dict[str, Any], truth: int) -> bool:
    """Whether a page says nothing untrue of how many there are."""
    said = page["pagination"]
    assert said["total_is_exact"] is (said["total_is"] == "exact")
    if said["total_is"] == "estimate":
        return True
    return bool(said["total"] == truth if said["total_is_exact"] else said["total"] <= truth)


LISTS = ("/jobs", "/admin/jobs", "/dead-letter", "/workflows", "/rate-limits", "/cron")


@pytest.mark.parametrize("limit", [1, 2, 3, 6, 7])
@pytest.mark.parametrize("path", LISTS)
def test_each_page_says_truly_how_many_there_are_and_whether_more_follow(
    api: Api, world: World, path: str, limit: int
) -> None:
    """No page is empty that follows another one."""
    truth = fill(api, path, world)
    found = pages(api, path, limit=str(limit))
    assert [len(entries(page)) for page in found][:-1] == [limit] * (len(found) - 1)
    assert sum(len(entries(page)) for page in found) == truth
    assert len(found) == -(-truth // limit)
    assert all(is_true(page, truth) for page in found)
    assert all(bool(page["pagination"].get("next_cursor")) for page in found[:-1])


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize("offset", [1, 6, 50])
def test_what_is_left_out_before_a_page_is_not_taken_for_found(
    api: Api, world: World, path: str, offset: int
) -> None:
    """Also where more is left out than there is."""
    truth = fill(api, path, world)
    page = api.get(path, query={"offset": str(offset), "limit": "2"}).json
    assert is_true(page, truth)


@pytest.mark.parametrize("path", ["/jobs", "/dead-letter"])
def test_a_filter_that_matches_nothing_has_no_total_above_nothing(
    api: Api, world: World, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a request ends before it looked at all jobs."""
    monkeypatch.setattr("ojs_aws.services.jobs.list_walk.MAX_EXAMINED", 2)
    fill(api, path, world)
    first = api.get(path, query={"type": "no.such", "limit": "2"}).json
    assert first["pagination"]["has_more"] is True
    for page in pages(api, path, type="no.such", limit="2"):
        assert (page["total"], entries(page)) == (0, [])
        assert is_true(page, 0)


@pytest.mark.parametrize("path", ["/jobs", "/dead-letter"])
def test_the_total_of_many_lists_comes_from_the_counters_of_the_queues(
    api: Api, world: World, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the answer says that they estimate."""
    monkeypatch.setattr(job_lists, "MAX_COUNTED", 3)
    count_changes(world)
    fill(api, path, world)
    first = api.get(path, query={"limit": "1"}).json
    assert (first["total"], first["pagination"]["total_is"]) == (6, "estimate")
    assert first["pagination"]["total_is_exact"] is False


@pytest.mark.parametrize("path", ["/jobs", "/dead-letter"])
def test_the_total_of_many_lists_without_counters_is_a_lower_bound(
    api: Api, world: World, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page, and the job behind it."""
    monkeypatch.setattr(job_lists, "MAX_COUNTED", 3)
    fill(api, path, world)
    first = api.get(path, query={"limit": "1"}).json
    assert (first["total"], first["pagination"]["total_is"]) == (2, "at_least")


@pytest.mark.parametrize("limit", ["201", "9" * 9, "9" * 10, "9" * 40])
def test_a_limit_of_any_size_means_the_largest(api: Api, limit: str) -> None:
    page = api.get("/queues", query={"limit": limit})
    assert page.json["pagination"]["limit"] == 200


@pytest.mark.parametrize("limit", [2, 6])
def test_the_newest_events_do_not_pass_for_all(api: Api, world: World, limit: int) -> None:
    """Their answer says that there are earlier ones; none comes later."""
    truth = fill(api, "/events", world)
    page = api.get("/events", query={"limit": str(limit)}).json
    said = page["pagination"]
    assert (said["total"], said["total_is"]) == (limit, "exact" if truth == limit else "at_least")
    assert (page["has_more"], page["has_earlier"]) == (False, truth > limit)


def test_events_behind_a_cursor_are_at_least_so_many(api: Api, world: World) -> None:
    """And a page that is followed by others has a cursor in both places."""
    truth = fill(api, "/events", world)
    page = api.get("/events", query={"limit": "2", "cursor": FIRST_EVENT}).json
    said = page["pagination"]
    assert (said["total"], said["total_is"], said["has_more"]) == (2, "at_least", True)
    assert said["next_cursor"] == page["cursor"]
    assert "has_earlier" not in page
    rest = api.get("/events", query={"limit": "50", "cursor": page["cursor"]}).json
    assert (len(rest["events"]), rest["pagination"]["total_is"]) == (truth - 2, "at_least")
