"""How long a dispatcher holds jobs, what a round without jobs costs, and whom a fault hits."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.adapters.sqs import encode_message
from ojs_aws.domain.job import JobState
from ojs_aws.domain.queues import Message
from ojs_aws.worker.delivery.dispatch import SUSPENDED_FOR_S
from tests.unit.worker.test_bound_functions import RESERVATION_S, Bench, denied, identifiers, two

LONGER_S = 2 * RESERVATION_S


@pytest.fixture
def bench() -> Bench:
    return Bench()


def held_s(bench: Bench, job_id: str) -> float:
    """For how long a job is reserved from now on."""
    held = bench.job(job_id).reservation
    assert held is not None
    return (held.expires_at - bench.world.clock.at) / 1000


def test_a_round_holds_jobs_for_the_longest_function_of_the_queue() -> None:
    """A message does not say which of them it leads to."""
    short, long = two()
    bench = Bench([short, replace(long, reservation_s=LONGER_S)])
    ids = [bench.push(), bench.push(job_type="report.new")]
    bench.dispatch()
    assert [held_s(bench, each) for each in ids] == [LONGER_S, LONGER_S]


@pytest.mark.parametrize(
    ("own_s", "seconds", "writes"),
    [
        (RESERVATION_S - 1, RESERVATION_S, 2),
        (RESERVATION_S, RESERVATION_S, 1),
        (RESERVATION_S + 1, RESERVATION_S + 1, 1),
    ],
)
def test_a_jobs_own_reservation_is_extended_where_it_is_too_short(
    bench: Bench, own_s: int, seconds: int, writes: int
) -> None:
    """One that covers the function costs nothing more."""
    bench.push()
    bench.dispatch()  # what a process reads once is known from now on
    bench.calls.made.clear()
    job_id = bench.push(visibility_timeout=f"{own_s}s")
    bench.dispatch()
    assert held_s(bench, job_id) == seconds
    assert (bench.calls.made["UpdateItem"], bench.calls.made["GetItem"]) == (writes, 1)


def test_a_round_without_an_active_binding_looks_for_no_job(bench: Bench) -> None:
    """It reads the binding, and hides the messages."""
    bench.states.suspend("email", "shop", "repairs", bench.world.clock.now(), is_lasting=True)
    bench.push()
    bench.calls.made.clear()
    bench.dispatch()
    assert bench.calls.made == {"ReceiveMessage": 1, "GetItem": 1, "ChangeMessageVisibility": 1}
    (held,) = bench.world.held("email")
    assert held.visible_at == bench.world.clock.at + SUSPENDED_FOR_S * 1000


def test_a_job_beside_a_suspended_binding_is_dispatched_without_a_problem(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """And what is suspended stays so."""
    bench = Bench(two())
    denied(bench)
    bench.push()
    bench.dispatch()
    bench.push(job_type="report.new")
    caplog.clear()
    with caplog.at_level(logging.ERROR):
        bench.dispatch()
    assert caplog.records == []
    assert [*bench.states.of("email").suspended] == ["mail"]


def test_a_job_that_may_run_does_not_bring_back_the_messages_of_others() -> None:
    """Its own message stays; the job that was given back is done with."""
    bench = Bench(two())
    runs, given_back = bench.push(), bench.push(job_type="unbound")
    bench.fail_call("Invoke", "after")
    kept = bench.dispatch()
    stay = [each.message.job_id for each in bench.world.held("email") if each.handle in kept]
    assert stay == [runs]
    assert len(kept) == 1
    assert bench.job(given_back).state is JobState.RETRYABLE


def test_one_queue_that_fails_brings_back_no_messages_of_others(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own messages come back."""
    of = bench.states.of

    def broken(queue: str) -> Any:
        if queue == "email":
            raise ValueError(queue)
        return of(queue)

    (binding,) = bench.bindings
    states = type("States", (), {"of": staticmethod(broken)})()
    queues = ["email", "media"]
    both = replace(bench.dispatcher, states=states, bindings=[replace(binding, queues=queues)])
    gone = encode_message(Message("01990000-0000-7000-8000-000000000001"))
    records = [
        {
            "messageId": queue,
            "receiptHandle": "r",
            "body": gone,
            "attributes": {},
            "eventSourceARN": f"arn:aws:sqs:us-east-1:123456789012:ojs-{queue}",
        }
        for queue in queues
    ]
    assert identifiers(both({"Records": records})) == ["email"]
