"""A workflow follows from the outcomes of its jobs alone (ojs-workflows, sections 4 to 10)."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ojs_aws.domain.errors import ConflictError
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workflows import changes as workflows
from ojs_aws.domain.workflows import progress
from ojs_aws.domain.workflows.graph import ROOT, Graph, Kind, Step, Trigger
from ojs_aws.domain.workflows.progress import StepState
from ojs_aws.domain.workflows.workflow import (
    MAX_FAILURES,
    Ended,
    StepFailure,
    Workflow,
    WorkflowState,
    bounded,
    cause,
    parent_results,
    value_of,
)

NOW = Instant(1_760_000_000_000)
C, F, X = StepState.COMPLETED, StepState.FAILED, StepState.CANCELLED
CALLBACKS = [*Trigger]

Tree = Any
"""``None`` is a job; else a kind with its parts, and of a DAG what each waits for."""


def graph_of(tree: Tree) -> Graph:
    steps: list[Step] = []
    _add(steps, tree, -1, "")
    return Graph(tuple(steps))


def _add(steps: list[Step], tree: Tree, parent: int, key: str) -> int:
    index = len(steps)
    if tree is None:
        steps.append(Step(kind=Kind.JOB, parent=parent, key=key, type=f"t{index}"))
        return index
    kind, parts, extra = tree
    steps.append(Step(kind=kind, parent=parent, key=key))
    made: list[int] = []
    for place, part in enumerate(parts):
        at = _add(steps, part, index, str(place))
        before = extra[place] if kind is Kind.DAG else [place - 1] if kind is Kind.CHAIN else []
        waits = tuple(made[i] for i in before if 0 <= i < place)
        steps[at] = Step(
            kind=steps[at].kind, parent=index, key=str(place), type=steps[at].type, waits_for=waits
        )
        made.append(at)
    steps.extend(
        Step(
            kind=Kind.JOB,
            parent=index,
            key=trigger,
            waits_for=tuple(made),
            trigger=trigger,
            is_callback=True,
        )
        for trigger in (extra if kind is Kind.BATCH else ())
    )
    return index


def _composite(parts: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    some = st.lists(parts, min_size=1, max_size=4)
    edges = st.lists(st.lists(st.integers(0, 3), max_size=3), min_size=4, max_size=4)
    return st.one_of(
        st.tuples(st.just(Kind.CHAIN), some, st.none()),
        st.tuples(st.just(Kind.GROUP), some, st.none()),
        st.tuples(st.just(Kind.DAG), some, edges),
        st.tuples(
            st.just(Kind.BATCH), some, st.lists(st.sampled_from(CALLBACKS), min_size=1, unique=True)
        ),
    )


TREES = _composite(st.recursive(st.none(), _composite, max_leaves=12))


def play(
    graph: Graph, outcome_of: Any, seed: int, *, repeats: bool = True
) -> tuple[str, dict[int, int]]:
    """Run a workflow: jobs end in any order, several at a time, and ends are reported again."""
    chance = random.Random(seed)
    states = progress.begin(graph)
    started: dict[int, int] = {}
    past: dict[int, StepState] = {}
    while True:
        new = progress.ready(states, 1000)
        for index in new:
            assert all(
                not progress.is_open(states[before]) for before in graph.steps[index].waits_for
            )
            started[index] = started.get(index, 0) + 1
        states = progress.enqueue(states, new)
        running = [i for i in graph.jobs if states[i] == StepState.RUNNING]
        if not running:
            return states, started
        ending = chance.sample(running, chance.randint(1, len(running)))
        news = {index: outcome_of(index) for index in ending}
        again = dict(chance.sample(sorted(past.items()), min(2, len(past)))) if repeats else {}
        states = progress.advance(graph, states, again | news)
        assert progress.advance(graph, states, news) == states
        past |= news


@settings(max_examples=80, deadline=None)
@given(TREES, st.integers(0, 2**32), st.integers(0, 2**32), st.integers(0, 2**32))
def test_each_job_begins_once_and_the_end_follows_from_the_outcomes_alone(
    tree: Tree, outcomes: int, one: int, other: int
) -> None:
    graph = graph_of(tree)
    chance = random.Random(outcomes)
    decided = {i: chance.choice([C, C, C, F, X]) for i in graph.jobs}
    states, started = play(graph, decided.__getitem__, one)
    again, _ = play(graph, decided.__getitem__, other, repeats=False)
    assert states == again
    assert set(started.values()) <= {1}
    assert not any(map(progress.is_open, states))
    assert {i for i in graph.jobs if states[i] == decided[i]} >= {*started}


@settings(max_examples=50, deadline=None)
@given(TREES, st.integers(0, 2**32))
def test_a_workflow_without_failures_runs_all_jobs_but_failure_callbacks(
    tree: Tree, seed: int
) -> None:
    graph = graph_of(tree)
    states, started = play(graph, lambda _: C, seed)
    assert states[ROOT] == C
    unwanted = {i for i in graph.jobs if graph.steps[i].trigger is Trigger.FAILURE}
    assert {*graph.jobs} - {*started} == unwanted


def test_a_chain_stops_at_the_first_failure() -> None:
    """Section 9.2."""
    graph = graph_of((Kind.CHAIN, [None] * 3, None))
    states, started = play(graph, {1: C, 2: F}.__getitem__, 1)
    assert (states, started) == ("fcfx", {1: 1, 2: 1})


def test_a_group_ends_when_all_have_ended() -> None:
    """Section 9.3."""
    graph = graph_of((Kind.GROUP, [None] * 3, None))
    states = progress.enqueue(progress.begin(graph), [1, 2, 3])
    states = progress.advance(graph, states, {1: F})
    assert states == ">f>>"
    assert progress.advance(graph, states, {2: C, 3: C}) == "ffcc"


@pytest.mark.parametrize(
    ("jobs", "callbacks", "ended"),
    [
        # on_success, on_complete, on_failure as in section 6.5; "-" is never enqueued.
        ({1: C, 2: C}, {3: C, 4: C}, "cccCC-"),
        ({1: C, 2: F}, {4: C, 5: C}, "ccf-CC"),
        ({1: F, 2: F}, {4: C, 5: C}, "cff-CC"),
        ({1: C, 2: X}, {4: C, 5: C}, "ccx-CC"),
        ({1: C, 2: C}, {3: F, 4: C}, "fccFC-"),
        ({1: C, 2: F}, {4: C, 5: F}, "fcf-CF"),
    ],
)
def test_callbacks_fire_by_the_outcome_and_decide_how_a_batch_ends(
    jobs: dict[int, StepState], callbacks: dict[int, StepState], ended: str
) -> None:
    graph = graph_of((Kind.BATCH, [None, None], CALLBACKS))
    states, started = play(graph, (jobs | callbacks).__getitem__, 3)
    assert states == ended.lower()
    assert {*started} == {*jobs, *callbacks}


def test_a_failure_that_no_callback_got_fails_the_batch() -> None:
    graph = graph_of((Kind.BATCH, [None], [Trigger.SUCCESS]))
    assert play(graph, {1: F}.__getitem__, 1)[0] == "ff-"


def test_a_failed_step_of_a_dag_stops_what_depends_on_it_and_nothing_else() -> None:
    graph = graph_of((Kind.DAG, [None] * 4, [[], [0], [1], []]))
    states, _ = play(graph, {1: F, 4: C}.__getitem__, 1)
    assert states == "ffxxc"


def test_the_outcome_of_a_nested_workflow_is_that_of_its_step() -> None:
    inner = (Kind.CHAIN, [None, None], None)
    graph = graph_of((Kind.CHAIN, [(Kind.GROUP, [inner, None], None), None], None))
    states, started = play(graph, {3: F, 5: C}.__getitem__, 1)
    assert states == "ffffxcx"
    assert {*started} == {3, 5}


# ------------------------------------------------------------------------------- the record


def ended(index: int, state: StepState = C, at: int = NOW) -> Ended:
    why = StepFailure(index=index, job_id=f"j{index}", code="bad", message="m", attempt=1)
    return Ended(index=index, state=state, at=Instant(at), failure=None if state is C else why)


def begun(graph: Graph) -> Workflow:
    made = workflows.create(graph, "w", NOW, name="n")
    return workflows.mark_enqueued(made, graph, made.ready(1000), NOW)


def kinds(workflow: Workflow) -> list[str]:
    return [each.kind.removeprefix("workflow.") for each in workflow.events]


def test_a_chain_publishes_its_steps_and_its_end() -> None:
    graph = graph_of((Kind.CHAIN, [None, None], None))
    made = workflows.create(graph, "w", NOW)
    assert kinds(made) == ["created"]
    started = workflows.start(begun(graph), Instant(NOW + 5))
    assert kinds(started) == ["started"]
    assert workflows.start(started, Instant(NOW + 9)) is started
    one = workflows.end_jobs(started, graph, [ended(1)], NOW)
    assert kinds(one) == ["step_completed"]
    assert one.events[0].data["remaining_steps"] == 1
    two = workflows.end_jobs(
        workflows.mark_enqueued(one, graph, one.ready(9), NOW), graph, [ended(2, F)], NOW
    )
    assert kinds(two) == ["step_failed", "failed"]
    assert two.events[1].data["failed_step_id"] == "1"
    assert (two.state, two.completed_count, two.failed_count) == (WorkflowState.FAILED, 1, 1)


def test_the_same_end_again_changes_nothing() -> None:
    graph = graph_of((Kind.GROUP, [None, None], None))
    once = workflows.end_jobs(begun(graph), graph, [ended(1)], NOW)
    assert workflows.end_jobs(once, graph, [ended(1), ended(1, F)], NOW) is once


@pytest.mark.parametrize("second", [F, X])
def test_the_first_outcome_of_a_job_counts(second: StepState) -> None:
    """A job that an operator retries after it ended changes nothing for its workflow."""
    graph = graph_of((Kind.GROUP, [None, None], None))
    once = workflows.end_jobs(begun(graph), graph, [ended(1)], NOW)
    assert workflows.end_jobs(once, graph, [ended(1, second)], NOW) is once
    failed = workflows.end_jobs(begun(graph), graph, [ended(1, second)], NOW)
    assert workflows.end_jobs(failed, graph, [ended(1)], NOW) is failed


def test_an_outcome_before_its_job_was_enqueued_is_none() -> None:
    graph = graph_of((Kind.CHAIN, [None, None], None))
    before = begun(graph)
    assert workflows.end_jobs(before, graph, [ended(2)], NOW) is before


def test_several_changes_are_one_write_with_an_event_of_each() -> None:
    graph = graph_of((Kind.BATCH, [None], [Trigger.COMPLETE]))
    before = begun(graph)
    one = workflows.end_jobs(before, graph, [ended(1)], NOW)
    both = workflows.joined(before, one, workflows.mark_enqueued(one, graph, [2], NOW))
    assert both.version == before.version + 1
    assert kinds(both) == ["job_completed", "callback_fired"]


def test_the_failure_of_a_callback_is_recorded() -> None:
    """Section 9.5."""
    graph = graph_of((Kind.BATCH, [None], [Trigger.COMPLETE]))
    one = workflows.end_jobs(begun(graph), graph, [ended(1)], NOW)
    two = workflows.mark_enqueued(one, graph, [2], NOW)
    last = workflows.end_jobs(two, graph, [ended(2, F)], NOW)
    assert (last.state, last.failed_callback) == (WorkflowState.FAILED, "on_complete")
    assert last.failures[0].code == "bad"


def fail_all(workflow: Workflow, graph: Graph, *indexes: int) -> Workflow:
    ready = workflow.ready(1000)
    enqueued = workflows.mark_enqueued(workflow, graph, ready, NOW) if ready else workflow
    return workflows.end_jobs(enqueued, graph, [ended(index, F) for index in indexes], NOW)


def test_a_callback_that_fails_is_named_however_many_jobs_failed_before() -> None:
    """Sections 9.5 and 9.6: as the step that failed the batch, with its error."""
    graph = graph_of((Kind.BATCH, [None] * 30, [Trigger.FAILURE]))
    last = fail_all(fail_all(begun(graph), graph, *range(1, 31)), graph, 31)
    assert len(last.failures) == MAX_FAILURES
    assert last.failures[-1].index == 31
    assert last.events[-1].data["failed_step_id"] == "on_failure"
    found = cause(last, graph)
    assert found is not None
    assert found.index == 31


def test_a_failed_step_is_named_however_many_failures_were_handled_before() -> None:
    """Section 9.2: a callback handled the first step's failures, so the second one counts."""
    handled = (Kind.BATCH, [None] * 30, [Trigger.FAILURE])
    graph = graph_of((Kind.CHAIN, [handled, None], None))
    failed = fail_all(begun(graph), graph, *range(2, 32))
    ready = workflows.mark_enqueued(failed, graph, failed.ready(9), NOW)
    well = workflows.end_jobs(ready, graph, [ended(32)], NOW)
    last = fail_all(well, graph, 33)
    assert last.state is WorkflowState.FAILED
    assert last.events[-1].data["failed_step_id"] == "1"
    assert 33 in [each.index for each in last.failures]


def test_a_callback_cancelled_by_itself_fails_the_batch_and_is_named() -> None:
    graph = graph_of((Kind.BATCH, [None], [Trigger.COMPLETE]))
    one = workflows.end_jobs(begun(graph), graph, [ended(1)], NOW)
    two = workflows.mark_enqueued(one, graph, [2], NOW)
    last = workflows.end_jobs(two, graph, [ended(2, X)], NOW)
    assert (last.state, last.failed_callback) == (WorkflowState.FAILED, "on_complete")


def test_what_a_cancellation_cancels_is_no_failure() -> None:
    """Section 9.6: errors are of failed jobs; one that fails nevertheless is among them."""
    graph = graph_of((Kind.GROUP, [None, None], None))
    cancelled = workflows.cancel(begun(graph), graph, NOW)
    late = workflows.end_jobs(cancelled, graph, [ended(1, X), ended(2, F)], NOW)
    assert (late.cancelled_count, late.failed_count) == (1, 1)
    assert [each.index for each in late.failures] == [2]


def test_a_cancelled_workflow_begins_nothing_and_counts_what_still_ends() -> None:
    """Section 11.3."""
    graph = graph_of((Kind.CHAIN, [None, None, None], None))
    cancelled = workflows.cancel(begun(graph), graph, NOW)
    assert (cancelled.states, cancelled.state) == ("x>xx", WorkflowState.CANCELLED)
    assert cancelled.outstanding(graph) == [1]
    late = workflows.end_jobs(cancelled, graph, [ended(1)], NOW)
    assert (late.states, late.state, late.completed_count) == ("xcxx", WorkflowState.CANCELLED, 1)
    assert late.events == ()
    with pytest.raises(ConflictError):
        workflows.cancel(late, graph, NOW)


# ------------------------------------------------------------------------------- results


def test_a_chain_hands_on_all_results_by_their_index() -> None:
    """Sections 7.2 and 7.3: a group's results are an object by the jobs' index."""
    graph = graph_of((Kind.CHAIN, [None, (Kind.GROUP, [None, None], None), None], None))
    values: Any = {1: '{"a":1}', 3: '"x"', 4: "null"}
    assert parent_results(graph, 1, values) == "{}"
    assert parent_results(graph, 3, values) == '{"0":{"a":1}}'
    assert parent_results(graph, 4, values) == '{"0":{"a":1}}'
    assert parent_results(graph, 5, values) == '{"0":{"a":1},"1":{"0":"x","1":null}}'


def test_callbacks_are_given_the_results_of_all_jobs() -> None:
    """Section 7.4."""
    chain = (Kind.CHAIN, [None, None], None)
    graph = graph_of((Kind.BATCH, [None, chain], [Trigger.FAILURE]))
    values: Any = {1: "1", 3: '{"error":{}}'}
    assert parent_results(graph, 5, values) == '{"0":1,"1":{"error":{}}}'


def test_a_step_of_a_dag_is_given_the_results_that_it_depends_on() -> None:
    graph = graph_of((Kind.DAG, [None, None, None], [[], [], [0, 1]]))
    values: Any = {1: "1", 2: "[2]"}
    assert parent_results(graph, 3, values) == '{"0":1,"1":[2]}'
    assert value_of(graph, 0, values | {3: "3"}) == '{"0":1,"1":[2],"2":3}'


def test_the_largest_results_become_references_when_all_are_too_many() -> None:
    """Section 7.5."""
    values: Any = {1: '"' + "x" * 5000 + '"', 2: '"small"', 3: '"' + "y" * 400 + '"'}
    kept = bounded(values, {1: "j1", 2: "j2", 3: "j3"}, 1000)
    assert '"result_ref":"/ojs/v1/jobs/j1"' in kept[1]
    assert (kept[2], kept[3]) == (values[2], values[3])


def test_results_are_bounded_by_their_bytes() -> None:
    """An item of a workflow has room for bytes: these characters have three each."""
    values: Any = {1: '"' + "\u4e2d" * 400 + '"'}
    assert bounded(values, {1: "j1"}, 1202) == values
    assert '"result_size_bytes":1202' in bounded(values, {1: "j1"}, 1201)[1]
