"""Workflows over HTTP and through the real adapters: their answers, their events, their price."""

from __future__ import annotations

from typing import Any

import pytest

from ojs_aws.domain.events import REQUIRED_DATA, EventQuery
from ojs_aws.domain.job import Reservation
from ojs_aws.domain.jobs.held_job import Holder
from ojs_aws.domain.json_text import RawJson, decode
from ojs_aws.services.backend import Backend
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.api import Api
from tests.aws import EmbeddedAws
from tests.functions.test_cron_stream import Stream


@pytest.fixture
def api(backend: Backend) -> Api:
    """The functions over it."""
    return Api(backend)


@pytest.fixture
def stream(aws: EmbeddedAws, backend: Backend) -> Stream:
    """The stream function over it."""
    return Stream(aws, backend)


def job(type_: str = "a.b", **more: Any) -> dict[str, Any]:
    return {"type": type_, "args": [1], "options": {"retry": {"max_attempts": 1}}, **more}


CHAIN = {"type": "chain", "name": "orders", "steps": [job("a"), job("b")]}
BATCH = {
    "type": "batch",
    "jobs": [job("a"), job("b")],
    "callbacks": {"on_complete": job("c"), "on_success": job("d"), "on_failure": job("e")},
}


def work(api: Api, *, fails: tuple[str, ...] = ()) -> list[Any]:
    """Fetch what there is and end it."""
    jobs = api.post("/workers/fetch", {"queues": ["default"], "count": 10}).json["jobs"]
    for each in jobs:
        if each["type"] in fails:
            api.post("/workers/nack", {"job_id": each["id"], "error": {"message": "it broke"}})
        else:
            api.post("/workers/ack", {"job_id": each["id"], "result": {"of": each["type"]}})
    return list(jobs)


def test_creating_answers_in_a_wrapper_and_flat(api: Api) -> None:
    """Wrapped for the clients for Python and Go, flat for JavaScript and the CLI."""
    reply = api.post("/workflows", CHAIN)
    assert reply.status == 201
    body = reply.json
    workflow = body["workflow"]
    assert reply.headers["Location"] == f"/ojs/v1/workflows/{workflow['id']}"
    assert body | {"workflow": None} == workflow | {"workflow": None}
    assert (workflow["type"], workflow["name"], workflow["state"]) == ("chain", "orders", "running")
    assert (workflow["steps_total"], workflow["steps_completed"]) == (2, 0)
    first, second = workflow["steps"]
    assert (first["index"], first["type"], first["state"]) == (0, "a", "pending")
    assert (second["index"], second["state"], second["job_id"]) == (1, "waiting", None)
    assert workflow["metadata"]["job_count"] == 2
    fetched = work(api)
    assert [each["id"] for each in fetched] == [first["job_id"]]
    assert fetched[0]["workflow_id"] == workflow["id"]
    assert fetched[0]["parent_results"] == {}


def test_reading_shows_each_step_with_its_result(api: Api, stream: Stream) -> None:
    """Section 11.2."""
    path = f"/workflows/{api.post('/workflows', CHAIN).json['id']}"
    work(api)
    stream.flow()
    [second] = api.post("/workers/fetch", {"queues": ["default"]}).json["jobs"]
    assert second["parent_results"] == {"0": {"of": "a"}}
    workflow = api.get(path).json["workflow"]
    done, active = workflow["steps"]
    assert (done["state"], done["result"]) == ("completed", {"of": "a"})
    assert done["started_at"] <= done["completed_at"]
    assert (active["state"], active["job_id"]) == ("active", second["id"])
    assert workflow["metadata"]["completed_count"] == 1
    assert "started_at" in workflow["metadata"]


def test_steps_with_dependencies_are_shown_in_the_words_of_the_binding(api: Api) -> None:
    """HTTP binding, section 14.1."""
    steps = [job("a", id="one", depends_on=[]), job("b", id="two", depends_on=["one"])]
    body = api.post("/workflows", {"name": "p", "steps": steps, "options": {"queue": "q"}}).json
    one, two = body["steps"]
    assert (one["id"], one["state"], one["depends_on"]) == ("one", "available", [])
    assert (two["id"], two["state"], two["job_id"]) == ("two", "pending", None)
    assert two["depends_on"] == ["one"]


def test_a_batch_shows_its_callbacks_and_whose_failure_it_was(api: Api, stream: Stream) -> None:
    path = f"/workflows/{api.post('/workflows', BATCH).json['id']}"
    work(api, fails=("b",))
    stream.flow()
    fired = work(api, fails=("c",))
    assert sorted(each["type"] for each in fired) == ["c", "e"]
    assert fired[0]["parent_results"]["0"] == {"of": "a"}
    stream.flow()
    workflow = api.get(path).json
    assert (workflow["state"], workflow["jobs_total"], workflow["jobs_completed"]) == (
        "failed",
        2,
        1,
    )
    states = {name: each["state"] for name, each in workflow["callbacks"].items()}
    assert states == {"on_complete": "failed", "on_success": "skipped", "on_failure": "completed"}
    metadata = workflow["metadata"]
    assert metadata["failed_callback"] == "on_complete"
    assert len(metadata["failed_job_ids"]) == 2
    assert metadata["errors"][0]["message"] == "it broke"


def test_a_failed_chain_names_the_step(api: Api, stream: Stream) -> None:
    """Section 9.6."""
    path = f"/workflows/{api.post('/workflows', CHAIN).json['id']}"
    [first] = work(api, fails=("a",))
    stream.flow()
    workflow = api.get(path).json
    assert [each["state"] for each in workflow["steps"]] == ["failed", "cancelled"]
    assert workflow["steps"][0]["error"]["message"] == "it broke"
    assert workflow["metadata"]["failed_step_index"] == 0
    assert workflow["metadata"]["failed_job_ids"] == [first["id"]]


def test_cancelling_answers_with_what_it_stopped(api: Api) -> None:
    """HTTP binding, section 14.3."""
    path = f"/workflows/{api.post('/workflows', CHAIN).json['id']}"
    body = api.delete(path).json
    assert (body["workflow"]["state"], body["steps_cancelled"]) == ("cancelled", 2)
    assert body["workflow"]["metadata"]["cancelled_at"] == body["cancelled_at"]
    again = api.delete(path)
    assert (again.status, again.error["code"]) == (409, "conflict")
    assert api.delete("/workflows/none").status == 404


def test_a_cancelled_workflow_is_over_and_has_no_errors(api: Api) -> None:
    """Sections 3.3, 9.6 and 11.3: its jobs were cancelled, and none of them failed."""
    made = api.post("/workflows", BATCH).json["workflow"]
    cancelled = api.delete(f"/workflows/{made['id']}").json["workflow"]
    seen = api.get(f"/workflows/{made['id']}").json["workflow"]
    for answer in (cancelled, seen):
        metadata = answer["metadata"]
        assert metadata["completed_at"] == metadata["cancelled_at"]
        assert not {"errors", "failed_job_ids"} & metadata.keys()
        assert [each["job_id"] for each in answer["jobs"]] == [
            each["job_id"] for each in made["jobs"]
        ]
        assert {each["job_id"] for each in answer["callbacks"].values()} == {None}


def test_a_job_that_was_cancelled_by_itself_is_why_its_group_failed(
    api: Api, stream: Stream
) -> None:
    """Section 9.6: the errors and the ids are of the same jobs."""
    made = api.post("/workflows", {"type": "group", "jobs": [job("a"), job("b")]}).json
    first = made["jobs"][0]["job_id"]
    api.delete(f"/jobs/{first}")
    work(api)
    stream.flow()
    metadata = api.get(f"/workflows/{made['id']}").json["metadata"]
    assert metadata["failed_job_ids"] == [first]
    assert [each["job_id"] for each in metadata["errors"]] == [first]


def test_steps_are_answered_with_the_names_that_they_were_sent_with(api: Api) -> None:
    """Section 10.3 has an id and a name for a nested workflow, the OpenAPI document for jobs."""
    nested = {"type": "group", "id": "wf_1-transform", "name": "transforms", "jobs": [job("b")]}
    body = {"type": "chain", "steps": [job("a", name="extract"), nested]}
    made = api.post("/workflows", body).json
    steps = api.get(f"/workflows/{made['id']}").json["workflow"]["steps"]
    assert [(each.get("id"), each.get("name")) for each in steps] == [
        ("extract", "extract"),
        ("wf_1-transform", "transforms"),
    ]


def test_lists_are_paged_and_filtered(api: Api) -> None:
    ids = [api.post("/workflows", CHAIN).json["id"] for _ in range(3)]
    api.delete(f"/workflows/{ids[0]}")
    page = api.get("/workflows", query={"limit": "2"}).json
    assert len(page["workflows"]) == 2
    rest = api.get(
        "/workflows", query={"limit": "2", "cursor": page["pagination"]["next_cursor"]}
    ).json
    assert {each["id"] for each in [*page["items"], *rest["items"]]} == {*ids}
    cancelled = api.get("/workflows", query={"state": "cancelled"}).json["workflows"]
    assert [each["id"] for each in cancelled] == [ids[0]]
    active = api.get("/workflows", query={"state": "active"}).json["workflows"]
    assert {each["id"] for each in active} == {*ids[1:]}
    assert api.get("/workflows", query={"state": "odd"}).status == 400


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"type": "chain", "steps": []}, "$.steps"),
        ({"type": "batch", "jobs": [job()], "callbacks": {}}, "$.callbacks"),
        ({"type": "chain", "id": 7, "steps": [job()]}, "$.id"),
        ({"type": "chain", "id": "a b", "steps": [job()]}, "$.id"),
        ({"type": "chain", "steps": [job("Bad Type")]}, "$.steps[0].type"),
        ({"steps": [job(id="a", depends_on=["b"]), job(id="b", depends_on=["a"])]}, "$.steps"),
    ],
)
def test_a_refusal_names_the_field_and_the_reason(api: Api, body: Any, field: str) -> None:
    """Section 11.1: 400, and nothing is stored."""
    reply = api.post("/workflows", body)
    assert (reply.status, reply.error["code"]) == (400, "invalid_workflow")
    assert reply.error["details"]["field"] == field
    assert reply.error["details"]["reason"]
    assert work(api) == []
    assert api.get("/workflows").json["workflows"] == []


def test_each_change_of_a_workflow_is_published_once(
    api: Api, backend: Backend, stream: Stream
) -> None:
    """Appendix B; ojs-events, section 4.4."""
    api.post("/workflows", BATCH)
    stream.flow()
    work(api)
    stream.flow()
    work(api)
    stream.flow()
    events = [
        each
        for each in backend.events.read(EventQuery(limit=1000)).events
        if each.type.startswith("workflow.")
    ]
    assert len({each.id for each in events}) == len(events)
    for each in events:
        data = decode(each.data)
        assert isinstance(data, dict)
        assert set(REQUIRED_DATA[each.type]) <= set(data)
    assert [each.type.removeprefix("workflow.") for each in events] == [
        "created",
        "started",
        "job_completed",
        "job_completed",
        "callback_fired",
        "callback_fired",
        "job_completed",
        "job_completed",
        "completed",
    ]


# ------------------------------------------------------------------------------- the price


def test_creating_a_small_workflow_costs_two_calls(api: Api, aws: EmbeddedAws) -> None:
    """One transaction, one message; and once in some seconds the settings of the queue."""
    cost = {"TransactWriteItems": 1, "SendMessage": 1}
    for expected in (cost | {"BatchGetItem": 1}, cost):
        with aws.calls.counted() as calls:
            api.post("/workflows", CHAIN)
        assert calls == expected


def test_a_step_of_a_chain_costs_three_calls_in_the_stream(
    aws: EmbeddedAws, api: Api, backend: Backend
) -> None:
    """Read the workflow, one transaction, one message; later ones read the results so far."""
    steps = [job("a"), job("b"), job("c")]
    created = api.post("/workflows", {"type": "chain", "steps": steps}).json
    backend.workflows.advance.started(created["id"], backend.clock.now())
    work(api)
    [before] = [backend.stores.store.load(created["steps"][0]["job_id"])]
    assert before is not None
    news = backend.workflows.advance.news_of(before)
    assert news is not None
    with aws.calls.counted() as calls:
        backend.workflows.advance.advance(created["id"], [news])
    assert calls == {"GetItem": 1, "TransactWriteItems": 1, "SendMessage": 1}


def test_a_large_group_costs_a_bounded_number_of_calls_per_member(
    aws: EmbeddedAws, api: Api, backend: Backend
) -> None:
    """One transaction for 80 members, one call for ten messages, two writes for 100 that end."""
    size = 400
    with aws.calls.counted() as creating:
        created = api.post("/workflows", {"type": "group", "jobs": [job()] * size}).json
    assert created["workflow"]["jobs_total"] == size
    assert creating["TransactWriteItems"] == size / 80
    assert creating["SendMessageBatch"] == size / 10
    assert sum(creating.values()) <= size / 80 + size / 10 + 3
    ids = [each["job_id"] for each in created["workflow"]["jobs"][:80]]
    loaded = backend.stores.store.load_many(ids)
    for each in loaded.values():
        backend.stores.store.claim(each.queue, each.id, _reservation(backend), backend.clock.now())
        backend.stores.store.acknowledge(each.id, Holder("w"), RawJson("1"), backend.clock.now())
    ended = backend.stores.store.load_many(ids)
    news = [one for each in ended.values() if (one := backend.workflows.advance.news_of(each))]
    with aws.calls.counted() as ending:
        backend.workflows.advance.advance(created["id"], news)
    assert ending == {"GetItem": 1, "TransactWriteItems": 1}


def _reservation(backend: Backend) -> Any:
    ends = backend.clock.now() + 60_000
    return Reservation(worker_id="w", expires_at=ends, execution_ends_at=ends)  # type: ignore[arg-type]


def test_large_results_reach_the_next_step_whole(api: Api, backend: Backend) -> None:
    """Results that left the job's item are read for those that need them (section 7.5)."""
    api.post("/workflows", CHAIN)
    [first] = backend.jobs.fetch(FetchRequest(("default",), 1, "w"))
    text = "".join(f"{number:x}" for number in range(15_000))
    backend.jobs.ack(first.id, "w", RawJson(f'"{text}"'))
    created = api.get("/workflows").json["workflows"][0]["id"]
    api.get(f"/workflows/{created}")
    [second] = api.post("/workers/fetch", {"queues": ["default"]}).json["jobs"]
    assert second["parent_results"] == {"0": text}
