"""Every form of a workflow becomes one graph, and what cannot be followed is refused whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ojs_aws.domain.attributes import check_job_id
from ojs_aws.domain.errors import InvalidWorkflowError
from ojs_aws.domain.json_text import parse_object
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workflows import definition as definitions
from ojs_aws.domain.workflows import dependencies
from ojs_aws.domain.workflows.definition import Definition, read_definition
from ojs_aws.domain.workflows.graph import Kind, Trigger, dump_graph, job_id_of, load_graph
from ojs_aws.transport.http.jobs.envelope import read_job


def job(type_: str = "a.b", **more: Any) -> dict[str, Any]:
    return {"type": type_, "args": [], **more}


def read(body: dict[str, Any]) -> Definition:
    return read_definition(parse_object(json.dumps(body)), lambda members: read_job(members, 100))


def faults(body: dict[str, Any]) -> list[tuple[str, str]]:
    with pytest.raises(InvalidWorkflowError) as caught:
        read(body)
    details: Any = caught.value.details
    assert caught.value.status == 400
    assert details["field"] == details["validation_errors"][0]["path"]
    return [(each["path"], each["message"]) for each in details["validation_errors"]]


def test_a_chain_is_steps_that_wait_each_for_the_one_before() -> None:
    made = read({"type": "chain", "name": "n", "steps": [job("a"), job("b"), job("c")]})
    assert made.name == "n"
    assert [step.waits_for for step in made.graph.steps] == [(), (), (1,), (2,)]
    assert [made.jobs[index].type for index in (1, 2, 3)] == ["a", "b", "c"]


def test_the_jobs_of_a_group_wait_for_nothing() -> None:
    made = read({"type": "group", "jobs": [job(), job()]})
    assert made.graph.kind is Kind.GROUP
    assert [step.waits_for for step in made.graph.steps] == [(), (), ()]
    assert made.graph.members == (1, 2)


def test_the_callbacks_of_a_batch_wait_for_all_its_jobs() -> None:
    callbacks = {"on_success": job("s"), "on_failure": job("f"), "on_complete": job("c")}
    made = read({"type": "batch", "jobs": [job(), job()], "callbacks": callbacks})
    waits = {s.trigger: s.waits_for for s in made.graph.steps if s.is_callback}
    assert waits == dict.fromkeys(Trigger, (1, 2))
    assert made.graph.counted == (1, 2)


def test_steps_with_dependencies_need_no_order_and_no_type() -> None:
    steps = [
        job("d", id="d", depends_on=["b", "c"]),
        job("b", id="b", depends_on=["a"]),
        job("c", id="c", depends_on=["a"]),
        job("a", id="a", depends_on=[]),
    ]
    graph = read({"name": "diamond", "steps": steps}).graph
    assert graph.kind is Kind.DAG
    assert graph.steps[1].waits_for == (2, 3)
    assert graph.orders[0] == (4, 2, 3, 1)


@pytest.mark.parametrize(
    "mark",
    [{"id": "on-success"}, {"id": "x", "options": {"callback_type": "on_success"}}],
)
def test_callbacks_may_come_as_marked_steps(mark: dict[str, Any]) -> None:
    """The official clients for Go and Python send a batch like this."""
    made = read({"name": "b", "steps": [job(id="1"), job(id="2"), job("cb", **mark)]})
    last = made.graph.steps[-1]
    assert (last.is_callback, last.trigger, last.waits_for) == (True, Trigger.SUCCESS, (1, 2))
    assert "options" not in made.jobs[3]


def test_workflows_nest_and_options_reach_the_innermost_jobs() -> None:
    inner = {"type": "chain", "steps": [job("i"), job("j", options={"queue": "own"})]}
    group = {"type": "group", "jobs": [inner, job("k")], "options": {"queue": "middle"}}
    body = {"type": "chain", "steps": [job("a"), group], "options": {"queue": "outer"}}
    made = read(body)
    queues = {made.jobs[i].type: made.jobs[i].queue for i in made.graph.jobs}
    assert queues == {"a": "outer", "i": "middle", "j": "own", "k": "middle"}
    assert made.graph.path(made.graph.jobs[2]) == "1.0.1"
    assert made.paths[made.graph.jobs[2]] == "$.steps[1].jobs[0].steps[1]"


def test_a_job_may_have_a_type_that_is_called_like_a_workflow() -> None:
    made = read({"type": "group", "jobs": [job("batch")]})
    assert made.graph.steps[1].kind is Kind.JOB


def test_a_graph_survives_being_kept() -> None:
    callbacks = {"on_success": job(), "on_complete": job()}
    batch = {"type": "batch", "jobs": [job(), {"type": "group", "jobs": [job()]}]}
    graph = read({"type": "chain", "steps": [job(), batch | {"callbacks": callbacks}]}).graph
    assert load_graph(dump_graph(graph)) == graph


def test_a_graph_that_was_kept_before_steps_had_labels_is_read() -> None:
    """What a release before this one wrote."""
    graph = read({"type": "chain", "steps": [job(), job()]}).graph
    rows = json.loads(dump_graph(graph))
    assert {len(row) for row in rows} == {8}
    assert load_graph(json.dumps(rows)) == graph


@pytest.mark.parametrize(
    ("body", "path", "reason"),
    [
        ({}, "$.type", "chain, group, batch"),
        ({"type": "tree"}, "$.type", "chain, group, batch"),
        ({"type": 7}, "$.type", "received number"),
        ({"type": {}}, "$.type", "received object"),
        ({"type": ["chain"]}, "$.type", "received array"),
        ({"type": "chain"}, "$.steps", "at least one"),
        ({"type": "chain", "steps": []}, "$.steps", "at least one"),
        ({"type": "group", "jobs": []}, "$.jobs", "at least one"),
        ({"type": "group", "jobs": {"a": 1}}, "$.jobs", "at least one"),
        ({"type": "group", "jobs": [7]}, "$.jobs[0]", "an object"),
        ({"type": "batch", "jobs": [job()]}, "$.callbacks", "at least one of"),
        ({"type": "batch", "jobs": [job()], "callbacks": {}}, "$.callbacks", "at least one of"),
        (
            {"type": "batch", "jobs": [job()], "callbacks": {"on_win": job()}},
            "$.callbacks.on_win",
            "on_complete",
        ),
        ({"type": "group", "jobs": [job()], "callbacks": {"on_success": job()}}, "$.callbacks", ""),
        ({"steps": [job(id="a"), job(id="a")]}, "$.steps[1].id", "twice"),
        ({"type": "chain", "steps": [job(id="a"), job(id="a")]}, "$.steps[1].id", "twice"),
        ({"steps": [job(id="a", depends_on=["b"])]}, "$.steps[0].depends_on", "no step 'b'"),
        ({"steps": [job(id="a", depends_on=["a"])]}, "$.steps[0].depends_on", "itself"),
        ({"steps": [job(id="a", depends_on="b")]}, "$.steps[0].depends_on", "array"),
        (
            {
                "steps": [
                    job(id="a", depends_on=["c"]),
                    job(id="b", depends_on=["a"]),
                    job(id="c", depends_on=["b"]),
                    job(id="d", depends_on=["c"]),
                ]
            },
            "$.steps",
            "cycle: a -> b -> c -> a",
        ),
        ({"type": "chain", "steps": [{"type": "chain", "steps": []}]}, "$.steps[0].steps", ""),
        ({"type": "chain", "name": 3, "steps": [job()]}, "$.name", "string"),
        ({"type": "chain", "id": 3, "steps": [job()]}, "$.id", "letters, digits"),
        ({"type": "chain", "id": "no/slash", "steps": [job()]}, "$.id", "letters, digits"),
        ({"type": "chain", "steps": [job(id=3)]}, "$.steps[0].id", "string"),
        ({"type": "chain", "steps": [job(id="a", name=3)]}, "$.steps[0].name", "string"),
        ({"type": "chain", "steps": [job()], "options": 3}, "$.options", "object"),
    ],
)
def test_what_cannot_be_followed_is_refused_with_its_place(
    body: dict[str, Any], path: str, reason: str
) -> None:
    found = faults(body)
    assert path in [at for at, _ in found]
    assert reason in dict(found)[path]


def test_all_faults_are_reported_at_once() -> None:
    steps = [7, job(id="a", depends_on=["x"]), {"type": "group", "jobs": []}]
    assert [at for at, _ in faults({"steps": steps})] == [
        "$.steps[0]",
        "$.steps[2].jobs",
        "$.steps[1].depends_on",
    ]


def _nested(levels: int) -> dict[str, Any]:
    body: dict[str, Any] = job()
    for level in range(levels):
        body = (
            {"type": "chain", "steps": [body]} if level % 2 else {"type": "group", "jobs": [body]}
        )
    return body


def test_ten_levels_nest_and_eleven_are_refused() -> None:
    assert len(read(_nested(10)).graph.steps) == 11
    assert "10 levels" in faults(_nested(11))[0][1]


def test_the_number_of_jobs_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(definitions, "MAX_JOBS", 3)
    read({"type": "group", "jobs": [job()] * 3})
    assert "at most 3 jobs" in faults({"type": "group", "jobs": [job()] * 4})[0][1]


def test_the_number_of_dependencies_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependencies, "MAX_DEPENDENCIES", 1)
    steps = [job(id="a"), job(id="b", depends_on=["a"]), job(id="c", depends_on=["a"])]
    assert "at most 1 dependencies" in faults({"steps": steps})[0][1]


def test_job_ids_are_uuid_v7_of_the_workflows_time_and_always_the_same() -> None:
    at = Instant(1_760_000_000_000)
    ids = [job_id_of("w", at, index) for index in range(200)]
    assert ids == [job_id_of("w", at, index) for index in range(200)]
    assert len({*ids, *(job_id_of("w", Instant(at + 1), index) for index in range(200))}) == 400
    for each in ids:
        check_job_id(each)
        assert int(each.replace("-", "")[:12], 16) == at
