"""Small rules of the testing kit: what is the same, who came from whom, and what has failed."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import ANY

import pytest

from ojs_aws import Job, Jobs
from ojs_aws.domain.conflicts import QueueMissingError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.queues import Message
from ojs_aws.memory_aws import MemoryAws
from ojs_aws.memory_aws.calls import Calls
from ojs_aws.memory_aws.sqs import URL_PREFIX
from ojs_aws.testing import Ojs, mistakes, reports
from ojs_aws.testing.assertions import Assertions
from ojs_aws.testing.deployment import FakeClock, NoMessages
from ojs_aws.testing.drain import DrainError, DrainReport, Lineage
from ojs_aws.testing.executions import Execution
from ojs_aws.testing.jobs import EnqueuedJob, _as_read
from ojs_aws.testing.matching import Criteria, is_same
from ojs_aws.testing.mistakes import Place, checked_state
from ojs_aws.testing.outcome_assertions import StartedWorkflow, WorkflowAssertions, _differences
from ojs_aws.testing.runs import check_performed
from tests.unit.testing.orders import build_report


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        ({"a": 1}, {"a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": 1, "b": 2}, {"a": 1}, False),
        ({"a": 1}, {"a": True}, False),
        ([1, ANY], [1, "x"], True),
    ],
)
def test_values_are_the_same_if_all_their_parts_are(
    expected: object, actual: object, same: bool
) -> None:
    assert is_same(expected, actual) is same


def test_an_attribute_may_be_anything() -> None:
    """One that is read, such as a delay, as well as any other."""
    given = {"delay": ANY, "scheduled_at": ANY, "priority": ANY}
    assert Criteria(kind="a.b", attributes=given).attributes == given


def test_jobs_are_in_order_by_the_clock_and_at_one_instant_by_turn() -> None:
    """As microseconds, so that the order says when a job was enqueued."""
    clock = FakeClock(7)
    assert [clock.order(), clock.order()] == [7_000, 7_001]
    clock.advance(ms=1)
    assert clock.order() == 8_000


def test_messages_are_refused_by_a_queue_that_is_not_made() -> None:
    """So that it is made with its first message, one by one or several at once."""
    sqs = MemoryAws(Calls(FakeClock().now)).sqs
    messages = NoMessages(sqs, "ojs", URL_PREFIX, made=["ojs-mail"])
    messages.send("mail", Message("1"))
    messages.send_all("mail", [(Message("1"), 0)])
    with pytest.raises(QueueMissingError):
        messages.send("reports", Message("1"))
    with pytest.raises(QueueMissingError):
        messages.send_all("reports", [(Message("1"), 0)])


@pytest.mark.parametrize("name", [*map(str, JobState)])
def test_states_have_names(name: str) -> None:
    assert checked_state(name) == name
    with pytest.raises(ValueError, match="There is no state"):
        checked_state(f"{name}s")


def report_of(*job_ids: str) -> Any:
    return SimpleNamespace(
        executions=[SimpleNamespace(job=SimpleNamespace(id=each)) for each in job_ids]
    )


def test_a_job_comes_from_the_last_execution_before_it() -> None:
    """Those that were there before come from nobody, and so do those of no execution."""
    lineage, order = Lineage(), {"a": 0}
    lineage.skip(order)
    order["b"] = 1
    lineage.note(order, report_of())
    assert lineage.of("b") == 0
    order["c"] = 2
    lineage.note(order, report_of("a"))
    order |= {"d": 3, "e": 4}
    lineage.note(order, report_of("a", "c"))
    lineage.note(order, report_of("a", "c", "e"))
    del order["b"]  # it was deleted
    lineage.note(order, report_of("a", "c", "e"))
    assert [lineage.of(each) for each in "abcde"] == [0, 0, 1, 2, 2]


def test_what_failed_on_purpose_is_no_failure() -> None:
    failed = Execution(Job("a.b", []), "failed", ValueError("no"))
    assert failed.is_failure
    assert not Execution(Job("a.b", []), "failed", ValueError("no"), is_injected=True).is_failure
    assert not Execution(Job("a.b", []), "completed").is_failure


@pytest.mark.parametrize(("count", "text"), [(1, "1 job failed"), (2, "2 jobs failed")])
def test_a_drain_counts_the_jobs_that_failed(
    monkeypatch: pytest.MonkeyPatch, count: int, text: str
) -> None:
    monkeypatch.setattr(DrainReport, "failures", ["no"] * count)
    with pytest.raises(DrainError, match=text):
        DrainReport().raise_errors()


def test_what_differs_in_a_workflow_is_named() -> None:
    found = cast("Any", SimpleNamespace(name="n", type="chain"))
    assert _differences({"name": "n", "type": ANY}, found) == []
    assert _differences({"name": "m"}, found) == ["name: expected 'm', is 'n'"]


# -------------------------------------------------------------------------------- workflows
@pytest.mark.parametrize(
    ("started", "count", "is_met"),
    [
        (0, None, False),
        (1, None, True),
        (2, None, True),
        (0, 0, True),
        (1, 1, True),
        (1, 0, False),
        (1, 2, False),
    ],
)
def test_there_must_be_as_many_workflows_as_are_expected(
    started: int, count: int | None, is_met: bool
) -> None:
    """At least one if no number is given."""
    found = [StartedWorkflow("1", "chain", "n", "running", (), (), {})] * started
    kit = cast("Any", SimpleNamespace(all_workflows=lambda: found, _unawaited=[]))
    if is_met:
        assert WorkflowAssertions.assert_workflow_created(kit, "chain", count=count) == found
    else:
        with pytest.raises(AssertionError, match=f"and found {started}"):
            WorkflowAssertions.assert_workflow_created(kit, "chain", count=count)


@pytest.mark.parametrize(
    ("expected", "actual", "shown"),
    [
        ("x" * 130, "abc", (f"'{'x' * 30}'...", "'abc' at character 1")),
        ("a" * 130, "a" * 131, (f"...'{'a' * 30}'", f"...'{'a' * 31}' at character 131")),
    ],
)
def test_long_texts_go_on_in_a_message_only_where_they_were_cut(
    expected: str, actual: str, shown: tuple[str, str]
) -> None:
    assert reports._around(expected, actual) == shown


def test_messages_speak_of_one_job_and_of_several_differently() -> None:
    assert "1 job waits for a commit: the transaction that enqueued it" in reports.held_back(1)
    assert "2 jobs wait for a commit: the transaction that enqueued them" in reports.held_back(2)
    criteria, jobs = Criteria(kind="a.b", attributes={}), [EnqueuedJob[Any]("a.b")] * 2
    for count, start in ((1, "1 job 'a.b' was enqueued"), (2, "2 jobs 'a.b' were enqueued")):
        message = reports.unexpected("was enqueued", criteria, jobs[:count])
        assert message.startswith(f"{start}, and none should be:")


def test_only_the_callbacks_of_the_workflow_itself_are_shown() -> None:
    """Not its steps, and not the callbacks of workflows within."""
    steps = [
        SimpleNamespace(type=name, kind="job", trigger=name, is_callback=is_callback, parent=parent)
        for name, is_callback, parent in [("a", False, 0), ("b", True, 0), ("c", True, 2)]
    ]
    plan = SimpleNamespace(graph=SimpleNamespace(steps=steps, members=[0], counted=[0]))
    workflow = SimpleNamespace(id="1", kind="batch", name="n", state="running")
    kit = cast("Any", None)
    started = WorkflowAssertions._started(kit, cast("Any", workflow), cast("Any", plan))
    assert started.callbacks == {"b": "b"}
    assert started.step_types == ("a",)


# ------------------------------------------------------------------------------------- jobs
class Enqueued(Assertions):
    """Asserts about given jobs."""

    def _jobs(self) -> list[EnqueuedJob[Any]]:
        return [
            EnqueuedJob.from_json(f'{{"id": "1", "type": "a.b", "queue": "{queue}", "args": []}}')
            for queue in ("mail", "default")
        ]


def test_jobs_of_any_type_are_chosen_by_what_else_is_given() -> None:
    jobs = Enqueued()
    assert [job.queue for job in jobs.all_enqueued()] == ["mail", "default"]
    assert [job.queue for job in jobs.all_enqueued(queue="mail")] == ["mail"]
    assert [job.queue for job in jobs.all_enqueued("a.b", queue="mail")] == ["mail"]
    assert jobs.all_enqueued("a.c") == []


@pytest.mark.parametrize("state", [*map(str, JobState)])
def test_only_a_completed_job_has_returned_something(state: str) -> None:
    text = f'{{"id": "1", "type": "{build_report.type}", "state": "{state}", "result": {{"a": 1}}}}'
    job: EnqueuedJob[Any] = EnqueuedJob.from_json(text)
    job._declaration = build_report.declaration
    if state == "completed":
        assert job.returned == {"a": 1}
    else:
        with pytest.raises(LookupError, match=f"has no result: it is {state}"):
            assert job.returned


def test_failures_are_counted_for_each_job() -> None:
    log = [
        Execution(cast("Any", SimpleNamespace(id=job_id)), outcome)
        for job_id, outcome in [("a", "failed"), ("b", "failed"), ("a", "completed")]
    ]
    ojs = cast("Any", SimpleNamespace(_runner=SimpleNamespace(log=log)))
    assert Ojs._failures(ojs, cast("Any", SimpleNamespace(id="a"))) == 1


def test_one_call_is_performed_at_a_time() -> None:
    call = build_report.call("monday")
    check_performed(call, [], {})
    with pytest.raises(TypeError, match="not 2 values"):
        check_performed(call, ["tuesday"], {})


def test_values_of_a_pattern_are_read_by_their_own_parameter() -> None:
    """Each of the rest by itself."""

    def send(to: str, *numbers: int) -> None: ...

    declaration = Jobs().job("small.rest")(send).declaration
    assert _as_read(declaration, "to", "ab") == "ab"
    assert _as_read(declaration, "numbers", (1, 2)) == (1, 2)


def test_only_what_this_thread_began_without_a_block_is_left_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own, begun = threading.get_ident(), list[Place]()
    for thread, has_block in [(own, False), (own, True), (own + 1, False)]:
        place = Place(cast("Any", None), cast("Any", None), cast("Any", None))
        place.thread, place.has_block = thread, has_block
        begun.append(place)
    with monkeypatch.context() as patched:
        patched.setattr(mistakes, "active_substitutes", lambda: begun)
        assert mistakes.left_over() == begun[:1]
