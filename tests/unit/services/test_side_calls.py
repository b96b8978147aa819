"""What an operation does beside its write may fail: its answer is the same.

Each of these calls is repeated by somebody else, or only makes something faster or known earlier.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ojs_aws.domain.conflicts import QueueMissingError
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError, InvalidRequestError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.json_text import parse_object
from ojs_aws.domain.queues import Message
from ojs_aws.services.dead_letters.upkeep import read_replay_rules
from tests.job_steps import fetched_ids, pushed
from tests.simulation.world import World
from tests.unit.services.cron.test_scheduler import register

REFUSED = BackendError("refused")
MISSING = QueueMissingError("no such queue")


def refuse(world: World, *names: str, problem: Exception = REFUSED) -> list[str]:
    """Let every call of these names fail from now on; return those that were tried."""
    whole, tried = world.faults.around, list[str]()

    def around(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def refused(*_: Any, **__: Any) -> Any:
            tried.append(name)
            raise problem

        return refused if name in names else whole(name, call)

    world.faults.around = around  # type: ignore[method-assign]
    return tried


@pytest.mark.parametrize("problem", [REFUSED, MISSING], ids=["refused", "missing"])
def test_a_fetch_without_messages_finds_the_head_of_its_queue(
    world: World, problem: Exception
) -> None:
    """A message is a hint; the list decides."""
    job = pushed(world.backend).id
    assert (tried := refuse(world, "receive", problem=problem)) == []
    assert fetched_ids(world.backend, count=5) == [job]
    assert tried


def test_a_limit_that_cannot_say_that_it_is_exceeded_still_holds(world: World) -> None:
    """And what it lets begin begins."""
    limit = {"key": "k", "concurrency": 1, "on_limit": "drop"}
    _, second = (pushed(world.backend, rate_limit=limit).id for _ in range(2))
    tried = refuse(world, "note_exhausted")
    assert len(fetched_ids(world.backend, count=5)) == 1
    assert world.stored.jobs[second].state is JobState.DISCARDED
    assert tried


def test_a_failure_counts_though_its_limit_cannot_be_held_back(world: World) -> None:
    """ojs-rate-limiting, section 9.1: the handler's wish is one of several."""
    job = pushed(world.backend, rate_limit={"key": "k", "concurrency": 1}).id
    fetched_ids(world.backend, count=5)
    tried = refuse(world, "block")
    error = parse_object('{"message": "slow down", "rate_limit_until": "2999-01-01T00:00:00Z"}')
    world.backend.jobs.fail(job, "w", error)
    assert world.stored.jobs[job].state is JobState.RETRYABLE
    assert tried


def test_a_cron_job_is_registered_though_its_alarm_cannot_be_set(world: World) -> None:
    """The tick finds it."""
    tried = refuse(world, "set")
    assert register(world).next_run_at is not None
    assert tried


@pytest.mark.parametrize("names", [("send",), ("send", "note")])
@pytest.mark.parametrize("problem", [REFUSED, MISSING], ids=["refused", "missing"])
def test_a_job_is_there_though_its_message_cannot_be_sent(
    world: World, names: tuple[str, ...], problem: Exception
) -> None:
    """Not even where the sweep does not learn of the queue, or its queue cannot be made."""
    tried = refuse(world, *names, problem=problem if names == ("send",) else REFUSED)
    job = pushed(world.backend, queue="undeclared").id
    assert world.stored.jobs[job].state is JobState.AVAILABLE
    assert set(names) <= set(tried)


def test_a_queue_that_is_missing_is_made_for_the_first_message(world: World) -> None:
    """And the message is sent again."""
    whole, missing = world.faults.around, list[str]()

    def around(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def once(*given: Any, **named: Any) -> Any:
            if not missing:
                missing.append(name)
                raise MISSING
            return call(*given, **named)

        return once if name == "send" else whole(name, call)

    world.faults.around = around  # type: ignore[method-assign]
    pushed(world.backend, queue="undeclared")
    assert len(world.messages.receive("undeclared", 10, 30)) == 1


def test_a_heartbeat_extends_though_no_message_can_be_hidden(world: World) -> None:
    """The reservation is the item's."""
    job = pushed(world.backend).id
    fetched_ids(world.backend, count=5)
    for problem in (REFUSED, MISSING):
        tried = refuse(world, "hide", problem=problem)
        beat = world.backend.workers.heartbeat("w", [job])
        assert beat.extended == (job,)
        assert tried


@pytest.mark.parametrize("name", ["open", "remember_tick"])
def test_a_sweep_goes_on_beside_what_fails(world: World, name: str) -> None:
    """Batches cannot be read, or its end cannot be written down: jobs get their messages."""
    pushed(world.backend, scheduled_at="+PT20M")
    tried = refuse(world, name)
    world.clock.advance(s=1200)
    assert world.backend.upkeep.sweep.tick().known == 1
    assert len(fetched_ids(world.backend, count=5)) == 1
    assert tried


@pytest.mark.parametrize("problem", [REFUSED, MISSING], ids=["refused", "missing"])
def test_a_message_too_many_may_stay(
    world: World, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    """It comes back, finds nothing to run again, and is deleted then."""
    job = pushed(world.backend).id
    world.messages.send("default", Message("01990000-0000-7000-8000-00000000dead"))
    tried: list[str] = []

    def refused(queue: str, _handles: object) -> None:
        tried.append(queue)
        raise problem

    with monkeypatch.context() as patch:
        patch.setattr(world.messages, "delete", refused)
        assert fetched_ids(world.backend, count=5) == [job]
        world.backend.jobs.ack(job, "w", None)
    assert tried


def test_a_heartbeat_reports_a_job_that_is_cancelled_meanwhile(world: World) -> None:
    """Between its read and its write; the other jobs go on."""
    jobs = [pushed(world.backend).id, pushed(world.backend).id]
    fetched_ids(world.backend, count=5)
    whole, cancelled = world.faults.around, list[str]()

    def around(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def overtaken(*given: Any, **named: Any) -> Any:
            if not cancelled:
                cancelled.append(jobs[0])
                world.backend.jobs.cancel(jobs[0])
            return call(*given, **named)

        return overtaken if name == "extend" else whole(name, call)

    world.faults.around = around  # type: ignore[method-assign]
    beat = world.backend.workers.heartbeat("w", jobs)
    assert beat.extended == (jobs[1],)
    assert world.stored.jobs[jobs[0]].state is JobState.CANCELLED


@pytest.mark.parametrize("name", ["advance", "close"])
def test_a_large_batch_is_there_though_its_log_cannot_be_finished(world: World, name: str) -> None:
    """It is committed: the sweep goes on with it."""
    world.part_batches(60)
    tried = refuse(world, name)
    jobs = [Job("a.b", [at]) for at in range(150)]
    assert len(world.backend.jobs.push.all(jobs)) == 150
    assert tried


def test_one_job_of_a_batch_that_cannot_be_placed_keeps_no_other_back(world: World) -> None:
    """The others of its part are there at once."""
    whole, refused = world.faults.around, list[str]()

    def around(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def once(*given: Any, **named: Any) -> Any:
            if not refused:
                refused.append(name)
                raise REFUSED
            return call(*given, **named)

        return once if name == "insert" else whole(name, call)

    world.faults.around = around  # type: ignore[method-assign]
    world.part_batches(200)
    world.backend.jobs.push.all([Job("a.b", [at]) for at in range(150)])
    assert refused
    assert len(world.stored.jobs) == 149


def test_a_paused_queue_that_cannot_be_read_has_its_triggers_off(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it was resumed meanwhile: the sweep sees to that again."""
    world.add_trigger("t")
    tried: list[str] = []

    def refused(queue: str) -> Any:
        tried.append(queue)
        raise REFUSED

    monkeypatch.setattr(world.registry, "load", refused)
    world.backend.queues.service.pause("default")
    assert (world.triggers_off(), tried) == ({"t"}, ["default"])


def test_a_queue_is_resumed_though_nobody_can_be_woken(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sweep sends messages for what waited."""
    pushed(world.backend)
    world.backend.queues.service.pause("default")
    tried: list[str] = []

    def refused(queue: str, *_: Any, **__: Any) -> Any:
        tried.append(queue)
        raise REFUSED

    monkeypatch.setattr(world.store, "listed", refused)
    world.backend.queues.service.resume("default")
    info = world.registry.load("default")
    assert (tried, info and info.paused_at) == (["default"], None)


@pytest.mark.parametrize(
    ("wrong", "field", "said"),
    [
        ('{"type": 5}', "replay_rules[0].filter.type", "must be a text."),
        (f'{{"error_type": "{"x" * 257}"}}', "replay_rules[0].filter", "more than 256 characters."),
    ],
    ids=["no text", "too long"],
)
def test_a_rule_with_a_filter_that_does_not_fit_names_the_filter(
    wrong: str, field: str, said: str
) -> None:
    """Not only the attribute in it."""
    with pytest.raises(InvalidRequestError) as refused:
        read_replay_rules(f'[{{"name": "r", "filter": {wrong}}}]')
    assert refused.value.details["field"] == field
    assert refused.value.message.startswith(f"The '{field}' attribute ")
    assert refused.value.message.endswith(said)
