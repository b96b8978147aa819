"""Sequences through the real adapters and the stream's consumer: order, choices, and costs."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from ojs_aws.adapters.dynamodb import stopped_sequences
from ojs_aws.bootstrap import build_backend
from ojs_aws.domain.errors import ConflictError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.lists import JobList
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.services.backend import Backend
from ojs_aws.services.bulk import BulkAction, BulkStatus
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.services.sequences import service
from ojs_aws.services.system import findings
from ojs_aws.testing.deployment import FakeClock
from ojs_aws.transport.events.tick import build_tick
from tests.api import Api, Reply
from tests.aws import EmbeddedAws
from tests.functions.test_cron_stream import Stream

KEY = "order-4711"
GONE = {"type": "boom", "code": "DISCARD", "message": "broken"}


class Shop:
    """A backend with its stream, as a client and a worker use it."""

    def __init__(self, aws: EmbeddedAws) -> None:
        self.aws, self.clock = aws, FakeClock()
        self.backend: Backend = build_backend(
            aws.settings, aws.clients, clock=self.clock, parallel=IN_ORDER
        )
        self.backend.queues.push_settings.of("default")
        self.api, self.stream = Api(self.backend), Stream(aws, self.backend)

    def push(self, sequence: Any = KEY, **more: Any) -> str:
        """Enqueue a job of the sequence; return its id."""
        return str(self.pushed(sequence, **more).json["job"]["id"])

    def pushed(self, sequence: Any = KEY, **more: Any) -> Reply:
        """Answer of a PUSH."""
        return self.api.post("/jobs", {"type": "a.b", "args": [], "sequence": sequence, **more})

    def flow(self) -> None:
        """Hand the changes to the stream's consumer."""
        self.stream.flow()

    def fetch(self) -> list[str]:
        """Claim whatever there is."""
        jobs = self.backend.jobs.fetch(FetchRequest(("default",), 10, "w"))
        return [job.id for job in jobs]

    def complete(self, job_id: str) -> None:
        """Complete a job, and let the stream see it."""
        self.backend.jobs.ack(job_id, "w", None)
        self.flow()

    def fail(self, job_id: str, error: dict[str, Any] = GONE) -> None:
        """Fail a job, and let the stream see it."""
        assert self.api.post("/workers/nack", {"job_id": job_id, "error": error}).status == 200
        self.flow()

    def state(self, job_id: str) -> str:
        """State of a job."""
        return str(self.job(job_id)["state"])

    def job(self, job_id: str) -> dict[str, Any]:
        """A job as INFO shows it."""
        found: dict[str, Any] = self.api.get(f"/jobs/{job_id}").json["job"]
        return found

    def rest(self, key: str = KEY) -> tuple[bool, int]:
        """Whether the sequence has an item, and how many rows."""
        seen, rows = self.backend.stores.sequences().look("", key, 50)
        return seen is not None, len(rows)

    def drain(self) -> list[str]:
        """Complete all jobs as they come; their ids in that order."""
        order = []
        self.flow()
        while jobs := self.fetch():
            assert len(jobs) == 1
            order += jobs
            self.complete(jobs[0])
        return order


@pytest.fixture
def shop(aws: EmbeddedAws) -> Shop:
    return Shop(aws)


def test_jobs_of_a_key_run_one_after_another_whatever_their_priority(shop: Shop) -> None:
    ids = [shop.push(priority=priority) for priority in (0, 50, -50, 100)]
    assert [shop.state(each) for each in ids] == ["available", *["pending"] * 3]
    assert [shop.job(each)["x_aws_sequence_position"] for each in ids] == [1, 2, 3, 4]
    assert shop.job(ids[1])["sequence"] == KEY
    assert shop.drain() == ids
    assert shop.rest() == (False, 0)


def test_another_key_and_another_tenant_do_not_wait(shop: Shop) -> None:
    shop.push()
    other = shop.push("other")
    foreign = shop.push(meta={"tenant_id": "acme"})
    assert [shop.state(each) for each in (other, foreign)] == ["available"] * 2


def test_an_idle_sequence_begins_anew(shop: Shop) -> None:
    first = shop.push()
    assert shop.drain() == [first]
    again = shop.push()
    assert shop.state(again) == "available"
    assert shop.job(again)["x_aws_sequence_position"] == 1


def test_a_retry_and_a_schedule_keep_the_place(shop: Shop) -> None:
    late = shop.push(scheduled_at="+PT1H", retry={"max_attempts": 2})
    behind = shop.push(scheduled_at="+PT1H10S")
    shop.flow()
    assert shop.fetch() == []
    shop.clock.advance(s=3600)
    assert shop.fetch() == [late]
    shop.fail(late, {"type": "boom", "message": "again"})
    assert shop.state(late) == "retryable"
    assert (shop.state(behind), shop.fetch()) == ("scheduled", [])
    shop.clock.advance(s=5)
    assert shop.fetch() == [late]
    shop.complete(late)
    assert shop.state(behind) == "scheduled"
    shop.clock.advance(s=10)
    assert shop.fetch() == [behind]


def test_a_blocked_job_whose_time_has_come_waits_for_its_turn(shop: Shop) -> None:
    first = shop.push()
    behind = shop.push(scheduled_at="+PT10S")
    assert shop.fetch() == [first]
    shop.clock.advance(s=60)
    assert (shop.state(behind), shop.fetch()) == ("scheduled", [])
    why = [each["code"] for each in shop.api.get(f"/admin/jobs/{behind}/why").json["reasons"]]
    assert why == ["in_sequence"]
    row = shop.backend.stores.store.listed("default", JobList.WAITING, 10).jobs[0]
    assert (row.id, row.state) == (behind, JobState.SCHEDULED)
    assert row.due > shop.clock.now() + 10**12
    shop.complete(first)
    assert shop.state(behind) == "available"
    assert shop.fetch() == [behind]


def test_a_discarded_job_stops_its_sequence_until_it_is_retried(shop: Shop) -> None:
    first, second = shop.push(), shop.push()
    shop.fetch()
    shop.fail(first)
    third = shop.push()
    shop.flow()
    assert shop.fetch() == []
    [(_, stopped)] = shop.backend.stores.sequences().stopped.page(10).sequences
    assert (stopped.key, stopped.job_id) == (KEY, first)
    assert shop.api.post(f"/dead-letter/{first}/retry").status == 200
    assert shop.backend.stores.sequences().stopped.page(10).sequences == ()
    assert shop.drain() == [first, second, third]
    assert shop.rest() == (False, 0)


def test_a_removed_job_no_longer_stops_its_sequence(shop: Shop) -> None:
    first, second = shop.push(), shop.push()
    shop.fetch()
    shop.fail(first)
    shop.backend.dead_letters.service.delete(first)
    assert shop.drain() == [second]


def test_skip_goes_on_without_the_discarded_job(shop: Shop) -> None:
    first, second = shop.push({"key": KEY, "on_discard": "skip"}), shop.push()
    shop.fetch()
    shop.fail(first)
    assert shop.fetch() == [second]
    refused = shop.api.post(f"/dead-letter/{first}/retry")
    assert refused.status == 409
    assert "another job of its sequence" in refused.json["error"]["message"]
    shop.complete(second)
    assert shop.api.post(f"/dead-letter/{first}/retry").status == 200
    third = shop.push()
    assert shop.drain() == [first, third]
    assert shop.rest() == (False, 0)


def test_cancel_cancels_the_rest_in_order(shop: Shop) -> None:
    first = shop.push({"key": KEY, "on_discard": "cancel"})
    rest = [shop.push() for _ in range(60)]
    shop.fetch()
    shop.fail(first)
    assert {shop.state(each) for each in rest} == {"cancelled"}
    assert shop.rest() == (False, 0)
    assert shop.state(shop.push()) == "available"


def test_a_cancelled_head_lets_the_next_go_on(shop: Shop) -> None:
    ids = [shop.push() for _ in range(4)]
    shop.backend.jobs.cancel(ids[2])
    shop.flow()
    assert shop.rest() == (True, 2)
    shop.backend.jobs.cancel(ids[0])
    assert shop.drain() == [ids[1], ids[3]]
    assert shop.rest() == (False, 0)


def test_many_jobs_that_ended_meanwhile_are_passed_by(shop: Shop) -> None:
    """The stream sees the end of the head first, and that of the others later."""
    ids = [shop.push() for _ in range(60)]
    shop.flow()
    for each in (ids[0], *ids[1:59]):
        shop.backend.jobs.cancel(each)
    assert shop.drain() == [ids[59]]
    assert shop.rest() == (False, 0)


def test_an_expired_job_is_passed_by(shop: Shop) -> None:
    first, second, third = shop.push(), shop.push(expires_at="+PT10S"), shop.push()
    shop.fetch()
    shop.clock.advance(s=11)
    shop.complete(first)
    assert shop.state(second) == "discarded"
    assert shop.drain() == [third]
    assert shop.rest() == (False, 0)


def test_an_expired_head_stops_nothing(shop: Shop) -> None:
    first, second = shop.push(expires_at="+PT10S"), shop.push()
    shop.clock.advance(s=11)
    assert shop.state(first) == "discarded"
    assert shop.drain() == [second]


def test_a_blocked_job_cannot_be_activated(shop: Shop) -> None:
    shop.push()
    blocked = shop.push()
    with pytest.raises(ConflictError, match="waits for others of its sequence"):
        shop.backend.jobs.activate(blocked)
    assert shop.state(blocked) == "pending"


def test_a_repeated_push_finds_its_job(shop: Shop) -> None:
    first = shop.push()
    answer = shop.pushed()
    blocked = answer.json["job"]
    again = shop.pushed(id=blocked["id"])
    assert (again.status, again.json["job"]["id"]) == (200, blocked["id"])
    assert shop.rest() == (True, 1)
    assert shop.drain() == [first, blocked["id"]]


def test_jobs_of_one_request_are_stored_together(shop: Shop) -> None:
    jobs = [{"type": "a.b", "args": [n], "sequence": KEY} for n in range(3)]
    answer = shop.api.post("/jobs/batch", {"jobs": [*jobs, {"type": "c.d", "args": []}]})
    ids = [each["id"] for each in answer.json["jobs"]]
    assert [shop.state(each) for each in ids] == ["available", "pending", "pending", "available"]
    assert shop.rest() == (True, 2)


def test_a_unique_job_of_a_sequence_takes_a_position_only_if_it_is_stored(shop: Shop) -> None:
    unique = {"keys": ["type"], "on_conflict": "ignore"}
    shop.push()
    kept = shop.push(unique=unique)
    assert shop.push(unique=unique) == kept
    assert shop.rest() == (True, 1)
    replaced = shop.push(unique=unique | {"on_conflict": "replace"})
    assert (shop.state(kept), shop.state(replaced)) == ("cancelled", "pending")
    assert shop.job(replaced)["x_aws_sequence_position"] == 3


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ("", "sequence"),
        ("a b", "sequence"),
        (7, "sequence"),
        ({"on_discard": "skip"}, "sequence"),
        ({"key": KEY, "on_discard": "go"}, "sequence.on_discard"),
        ({"key": KEY, "other": 1}, "sequence.other"),
    ],
)
def test_a_malformed_sequence_is_refused(shop: Shop, value: Any, field: str) -> None:
    answer = shop.pushed(value)
    assert (answer.status, answer.json["error"]["details"]["field"]) == (400, field)


def test_a_pending_job_of_a_sequence_is_refused(shop: Shop) -> None:
    assert shop.pushed(pending=True).status == 400


def test_a_step_of_a_workflow_in_a_sequence_is_refused(shop: Shop) -> None:
    steps = [{"type": "a", "args": [], "sequence": KEY}]
    answer = shop.api.post("/workflows", {"type": "chain", "steps": steps})
    assert (answer.status, answer.json["error"]["details"]["field"]) == (400, "$.steps[0].sequence")


def test_runs_of_a_cron_job_take_positions(shop: Shop) -> None:
    """Among the other jobs of the key, and each occurrence once."""
    entry = {"name": "minutely", "cron": "* * * * *", "type": "a.b", "args": []}
    sequenced = {**entry, "overlap_policy": "allow", "options": {"sequence": KEY}}
    first = shop.push()
    assert shop.api.post("/cron", sequenced).status == 201
    runs = [shop.api.post("/cron/minutely/trigger").json["job_id"]]
    shop.clock.advance(s=60)
    build_tick(shop.backend)({}, None)
    runs.append(shop.api.get("/cron/minutely").json["last_occurrence"]["job_id"])
    last = shop.push()
    assert [shop.job(each)["x_aws_sequence_position"] for each in (*runs, last)] == [2, 3, 4]
    assert shop.drain() == [first, *runs, last]
    assert shop.rest() == (False, 0)


def test_runs_of_a_cron_job_do_not_wait_twice(shop: Shop) -> None:
    """Held runs are pending already; the error says which policy to use."""
    entry = {"name": "minutely", "cron": "* * * * *", "type": "a.b", "args": []}
    held = {**entry, "overlap_policy": "enqueue"}
    answer = shop.api.post("/cron", {**held, "options": {"sequence": KEY}})
    assert (answer.status, answer.json["error"]["details"]["field"]) == (400, "sequence")
    assert answer.json["error"]["hint"].startswith("Use 'allow'")
    assert shop.api.post("/cron", held).status == 201


def test_push_and_release_cost_the_same_whatever_the_length(shop: Shop) -> None:
    def cost_of(act: Any) -> dict[str, int]:
        with shop.aws.calls.counted() as calls:
            act()
        return dict(calls)

    idle = cost_of(shop.push)
    assert idle == {"GetItem": 1, "TransactWriteItems": 1, "SendMessage": 1}
    for _ in range(30):
        assert cost_of(shop.push) == {"GetItem": 1, "TransactWriteItems": 1}
    shop.flow()
    release = partial(shop.backend.sequence_advance.advance, "", KEY)
    for left in range(30, -1, -1):
        [job] = shop.fetch()
        shop.backend.jobs.ack(job, "w", None)
        step = {"TransactWriteItems": 1, "SendMessage": 1} if left else {"DeleteItem": 1}
        assert cost_of(release) == {"Query": 1, "BatchGetItem": 1, **step}


def test_a_lost_record_is_made_up_for_by_a_later_push(shop: Shop) -> None:
    """The head ended, and nobody saw it; a job that comes an hour later has that looked at."""
    first, second = shop.push(), shop.push()
    shop.fetch()
    shop.backend.jobs.ack(first, "w", None)
    shop.stream = Stream(shop.aws, shop.backend)  # what happened until now is lost
    shop.stream._read()[1]()
    shop.push()
    shop.flow()
    assert shop.fetch() == []
    shop.clock.advance(s=3600)
    shop.push()
    shop.flow()
    assert shop.fetch() == [second]


def test_a_repeated_record_and_a_dead_process_change_nothing(shop: Shop) -> None:
    first, second, third = shop.push(), shop.push(), shop.push()
    shop.fetch()
    shop.backend.jobs.ack(first, "w", None)
    for _ in range(3):
        assert shop.backend.sequence_advance.advance("", KEY)
    assert [shop.state(each) for each in (second, third)] == ["available", "pending"]
    shop.flow()
    assert shop.drain() == [second, third]
    assert shop.state(third) == JobState.COMPLETED


def test_why_names_the_job_that_has_the_turn(shop: Shop) -> None:
    first, second = shop.push(), shop.push()

    def why() -> dict[str, Any]:
        answer = shop.api.get(f"/admin/jobs/{second}/why").json
        assert answer["checked"] == ["job", "sequence"]
        reason: dict[str, Any] = answer["reasons"][0]
        return reason

    reason = why()
    assert (reason["code"], reason["data"]["job_id"]) == ("in_sequence", first)
    assert reason["message"] == (
        f"It waits for job {first} of sequence '{KEY}', which is at position 1; its own is 2."
    )
    shop.fetch()
    shop.fail(first)
    assert why()["code"] == "sequence_stopped"
    assert why()["message"].endswith(f"on job {first}, which was discarded.")


def test_lists_show_the_sequence_and_the_position(shop: Shop) -> None:
    shop.push()
    second = shop.push()
    [listed] = shop.api.get("/admin/jobs", query={"state": "pending"}).json["jobs"]
    assert (listed["id"], listed["sequence"]) == (second, KEY)
    assert listed["x_aws_sequence_position"] == 2


def test_operators_see_whose_turn_it_is(shop: Shop) -> None:
    assert shop.api.get(f"/admin/sequences/{KEY}").status == 404
    first, second = shop.push(), shop.push()
    assert shop.api.get(f"/admin/sequences/{KEY}").json == {
        "key": KEY,
        "state": "running",
        "job_id": first,
        "position": 1,
        "next": 3,
        "blocked": [{"job_id": second, "position": 2}],
    }


def test_an_operator_skips_the_job_that_a_sequence_is_stopped_on(shop: Shop) -> None:
    first, second = shop.push(), shop.push()
    [head] = shop.fetch()
    refused = shop.api.post(f"/admin/sequences/{KEY}/skip")
    assert (refused.status, refused.json["error"]["details"]["job_id"]) == (409, head)
    shop.fail(first)
    found = shop.api.get(f"/admin/sequences/{KEY}").json
    assert (found["state"], found["stopped_at"][:4]) == ("stopped", "2025")
    answer = shop.api.post(f"/admin/sequences/{KEY}/skip")
    assert (answer.status, answer.json["state"], answer.json["job_id"]) == (200, "running", second)
    assert shop.api.post(f"/dead-letter/{first}/retry").status == 409
    assert shop.drain() == [second]


def test_a_skip_of_the_last_job_leaves_an_idle_sequence(shop: Shop) -> None:
    first = shop.push()
    shop.fetch()
    shop.fail(first)
    answer = shop.api.post(f"/admin/sequences/{KEY}/skip")
    assert (answer.status, answer.json["blocked"]) == (200, [])
    assert shop.rest() == (False, 0)


def test_the_tenant_names_whose_sequence_it_is(shop: Shop) -> None:
    job = shop.push(meta={"tenant_id": "acme"})
    assert shop.api.get(f"/admin/sequences/{KEY}").status == 404
    found = shop.api.get(f"/admin/sequences/{KEY}", query={"tenant": "acme"}).json
    assert (found["job_id"], found["tenant_id"]) == (job, "acme")
    of_acme = {"X-OJS-Tenant": "acme"}
    assert shop.api.get(f"/admin/sequences/{KEY}", headers=of_acme).json == found
    other = shop.api.get(
        f"/admin/sequences/{KEY}", headers={"X-OJS-Tenant": "b"}, query={"tenant": "acme"}
    )
    assert other.status == 403


def test_a_finding_names_the_sequences_that_are_stopped(shop: Shop) -> None:
    def found() -> list[Any]:
        findings = shop.api.get("/admin/findings").json["findings"]
        return [each for each in findings if each["code"] == "sequence_stopped"]

    first = shop.push(meta={"tenant_id": "acme"})
    shop.fetch()
    assert found() == []
    shop.fail(first)
    shop.clock.advance(s=120)
    [finding] = found()
    assert finding["data"] | {"since": ""} == {
        "count": 1,
        "key": KEY,
        "job_id": first,
        "since": "",
        "tenant_id": "acme",
    }
    assert finding["message"] == (
        f"The sequence '{KEY}' has been stopped for 2 min on job {first}, which was discarded."
    )
    assert finding["hint"].endswith(f"ojs-aws sequences skip {KEY} --tenant acme")


def stopped(shop: Shop, *keys: str, **more: Any) -> list[str]:
    """Stop sequences one after another, and return the jobs that they are stopped on."""
    jobs = []
    for key in keys:
        shop.clock.advance(s=60)
        jobs.append(shop.push(key, **more))
        shop.backend.jobs.fetch(FetchRequest((more.get("queue", "default"),), 1, "w"))
        shop.fail(jobs[-1])
    return jobs


def listed(shop: Shop, **query: str) -> list[str]:
    """The keys that the list of stopped sequences shows, page by page."""
    keys: list[str] = []
    while True:
        answer = shop.api.get("/admin/sequences", query=query).json
        keys += [each["key"] for each in answer["sequences"]]
        if not answer["pagination"]["has_more"]:
            return keys
        query["cursor"] = answer["pagination"]["next_cursor"]


def test_one_finding_counts_the_stopped_sequences(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It names the one that was stopped first, and the command that lists all."""
    jobs = stopped(shop, "a", "b", "c")

    def finding() -> Any:
        there = shop.api.get("/admin/findings").json["findings"]
        [found] = [each for each in there if each["code"] == "sequence_stopped"]
        return found

    found = finding()
    assert found["message"] == (
        "3 sequences are stopped. The sequence 'a' has been stopped for 2 min on job "
        f"{jobs[0]}, which was discarded."
    )
    assert found["hint"] == "See all of them, and let each go on: ojs-aws sequences list"
    assert (found["data"]["count"], found["data"]["job_id"]) == (3, jobs[0])
    monkeypatch.setattr(findings, "MAX_NAMED", 2)
    assert finding()["message"].startswith("3 sequences are stopped. ")
    monkeypatch.setattr(stopped_sequences, "MAX_COUNTED", 2)
    assert finding()["message"].startswith("At least 2 sequences are stopped. ")


def test_operators_list_the_stopped_sequences(shop: Shop) -> None:
    """With what each is stopped on, until it goes on."""
    assert listed(shop) == []
    first, second = stopped(shop, "a", "b")
    shop.push("a")
    [entry, other] = shop.api.get("/admin/sequences").json["sequences"]
    assert entry | {"stopped_at": ""} == {
        "key": "a",
        "state": "stopped",
        "job_id": first,
        "queue": "default",
        "type": "a.b",
        "position": 1,
        "next": 3,
        "stopped_at": "",
    }
    assert entry["stopped_at"] < other["stopped_at"]
    assert listed(shop, limit="1") == ["a", "b"]
    assert shop.api.post(f"/dead-letter/{second}/retry").status == 200
    assert listed(shop) == ["a"]
    assert shop.api.post("/admin/sequences/a/skip").status == 200
    assert listed(shop) == []


def test_the_list_shows_the_sequences_of_a_queue_or_a_tenant(shop: Shop) -> None:
    """A request of a tenant sees no others, and its cursors name none."""
    stopped(shop, "a", "b", queue="mail")
    stopped(shop, "c", "d", meta={"tenant_id": "acme"})
    stopped(shop, "e", meta={"tenant_id": "ac"}, queue="mail")
    assert listed(shop) == ["a", "b", "c", "d", "e"]
    assert listed(shop, queue="mail") == ["a", "b", "e"]
    assert listed(shop, queue="mail", limit="1") == ["a", "b", "e"]
    assert listed(shop, tenant="acme") == ["c", "d"]
    assert listed(shop, tenant="ac", queue="default") == []
    of_acme = {"X-OJS-Tenant": "acme"}
    own = shop.api.get("/admin/sequences", headers=of_acme, query={"limit": "1"}).json
    assert [each["key"] for each in own["sequences"]] == ["c"]
    assert own["sequences"][0]["tenant_id"] == "acme"
    more = {"cursor": own["pagination"]["next_cursor"]}
    rest = shop.api.get("/admin/sequences", headers=of_acme, query=more).json
    assert [each["key"] for each in rest["sequences"]] == ["d"]
    refused = shop.api.get("/admin/sequences", headers=of_acme, query={"tenant": "ac"})
    assert refused.status == 403
    assert shop.api.get("/admin/sequences", query={"cursor": "x"}).status == 400
    assert shop.api.get("/admin/sequences", query={"queue": "a b"}).status == 400


def test_a_list_of_stopped_sequences_costs_a_query_and_two_reads(shop: Shop) -> None:
    """It is bounded where it passes those of others, and goes on there."""
    stopped(shop, "a", "b", "c")
    with shop.aws.calls.counted() as calls:
        found, after = shop.backend.sequences.stopped(2)
    assert calls == {"Query": 1, "BatchGetItem": 2}
    assert ([each.sequence.key for each in found], bool(after)) == (["a", "b"], True)
    with shop.aws.calls.counted() as calls:
        found, after = shop.backend.sequences.stopped(2, after)
    assert calls == {"Query": 1, "BatchGetItem": 2}
    assert ([each.sequence.key for each in found], after) == (["c"], "")


def test_rows_of_others_are_passed_a_hundred_at_a_time(shop: Shop) -> None:
    """Also where one sequence of a queue is looked for."""
    stopped(shop, "a", "b")
    stopped(shop, "c", queue="mail")
    with shop.aws.calls.counted() as calls:
        [found], after = shop.backend.sequences.stopped(1, queue="mail")
    assert (found.sequence.key, after) == ("c", "")
    assert calls["Query"] == 1


def test_a_walk_past_the_sequences_of_others_ends_and_goes_on(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped(shop, "a", "b", "c", "d")
    stopped(shop, "e", "f", queue="mail")
    monkeypatch.setattr(service, "PICKED", 1)
    monkeypatch.setattr(service, "MAX_PAGES", 3)
    found, after = shop.backend.sequences.stopped(1, queue="mail")
    assert (found, bool(after)) == ([], True)
    [one], after = shop.backend.sequences.stopped(1, after, queue="mail")
    assert one.sequence.key == "e"
    [one], after = shop.backend.sequences.stopped(1, after, queue="mail")
    assert (one.sequence.key, after) == ("f", "")


def test_a_stopped_sequence_is_listed_without_a_job_that_is_gone(shop: Shop) -> None:
    """Until the stream sees that it was deleted."""
    [first] = stopped(shop, "a")
    assert shop.api.delete(f"/dead-letter/{first}").status in {200, 204}
    [entry] = shop.api.get("/admin/sequences").json["sequences"]
    assert (entry["job_id"], "queue" in entry) == (first, False)
    assert listed(shop, queue="default") == []
    shop.flow()
    assert listed(shop) == []


def test_a_discarded_job_is_not_retried_together_with_others(shop: Shop) -> None:
    """That would give it a turn that another job may have by now."""
    first = shop.push({"key": KEY, "on_discard": "skip"})
    second = shop.push()
    shop.fetch()
    shop.fail(first)
    report = shop.backend.bulk.changes.named(BulkAction.RETRY, [first], is_atomic=True)
    assert [(each.status, each.reason) for each in report.outcomes] == [
        (
            BulkStatus.SKIPPED,
            "A discarded job of a sequence is retried by itself: it needs its turn.",
        )
    ]
    assert (shop.state(first), shop.state(second)) == ("discarded", "available")


@pytest.mark.parametrize("choice", ["skip", "cancel"])
def test_no_job_changes_before_its_own_time(shop: Shop, choice: str) -> None:
    """The producer's clock may be ahead of that of the stream's reader."""
    first = shop.push({"key": KEY, "on_discard": choice})
    shop.clock.advance(s=60)
    second = shop.push()
    shop.clock.advance(s=-30)
    shop.fetch()
    shop.fail(first)
    job = shop.backend.stores.store.load(second)
    assert job is not None
    assert (job.enqueued_at or job.cancelled_at) == job.created_at
