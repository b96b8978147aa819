"""Bindings that operators register: functions of the stack, and no others (ojs-serverless, 2.1)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Final

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.bindings import NO_CONFIG, BindingConfig, read_targets
from ojs_aws.domain.errors import ConflictError, InvalidRequestError, JsonValue, NotFoundError
from ojs_aws.domain.job import JobState
from ojs_aws.services.queues.bindings import Bindings
from ojs_aws.services.system.queue_findings import FindingCode
from tests.unit.worker.test_bound_functions import Bench

TARGETS = {
    "shop": {"queues": ["email"], "types": ["email.*"]},
    "other": {"queues": ["email", "media"], "types": []},
}


@pytest.fixture
def bench() -> Bench:
    """A queue with a dispatcher, and what its stack allows."""
    bench = Bench(settings=Settings(binding_targets=json.dumps(TARGETS)))
    bench.world.registry.ensure("email", bench.world.clock.now())
    bench.world.registry.ensure("media", bench.world.clock.now())
    return bench


def bindings(bench: Bench) -> Bindings:
    """The service."""
    return bench.backend.queues.bindings


def test_2_1_a_queue_shows_what_the_stack_allows(bench: Bench) -> None:
    """With the job types that the stack names, or that were registered."""
    shown = [(each.name, each.types, each.is_registered) for each in bindings(bench).list("email")]
    assert shown == [("other", (), False), ("shop", ("email.*",), False)]
    assert [each.name for each in bindings(bench).list("media")] == ["other"]


@pytest.mark.parametrize(("queue", "name"), [("email", "evil"), ("media", "shop"), ("x", "shop")])
def test_2_1_nobody_binds_a_function_that_the_stack_does_not_allow(
    bench: Bench, queue: str, name: str
) -> None:
    """Neither another function, nor for another queue."""
    service = bindings(bench)
    calls: list[Callable[[], object]] = [
        lambda: service.put(queue, name, ["a"]),
        lambda: service.get(queue, name),
        lambda: service.delete(queue, name),
        lambda: service.suspend(queue, name, ""),
        lambda: service.resume(queue, name),
    ]
    for call in calls:
        with pytest.raises(NotFoundError, match=f"no binding '{name}'"):
            call()
    assert bench.states.of(queue).bound == {}


def test_2_1_registered_types_hold_at_the_next_dispatch(bench: Bench) -> None:
    """In the place of the stack's, until they are forgotten."""
    bindings(bench).put("email", "shop", ["report.new"])
    kept, ran = bench.push(), bench.push(job_type="report.new")
    bench.whole()
    assert bench.job(kept).failures[-1].type == "NoHandlerRegistered"
    assert bench.job(ran).state is JobState.COMPLETED
    assert bindings(bench).delete("email", "shop").types == ("email.*",)
    bench.pass_s(30)
    with pytest.raises(NotFoundError, match="Nobody has registered"):
        bindings(bench).delete("email", "shop")


def test_2_1_bindings_of_a_queue_serve_different_types(bench: Bench) -> None:
    """The refusal names the other one, and nothing changes."""
    with pytest.raises(ConflictError, match=r"'shop' of queue 'email' serves email\.\*"):
        bindings(bench).put("email", "other", ["a", "email.*"])
    assert bindings(bench).get("email", "other").types == ()
    assert bindings(bench).put("email", "other", ["email.bulk"]).types == ("email.bulk",)
    again = bindings(bench).put("email", "other", ["email.bulk", "email.news"])
    assert again.types == ("email.bulk", "email.news")  # no conflict with itself


def test_2_1_an_endpoint_is_below_a_prefix_of_the_stack() -> None:
    """Else it is refused, and so is a registration without one."""
    prefix = "https://app.example.com/jobs/"
    target = {"web": {"queues": ["email"], "types": [], "prefixes": [prefix]}}
    bench = Bench(settings=Settings(binding_targets=json.dumps(target)))
    bench.world.registry.ensure("email", bench.world.clock.now())
    for endpoint in (None, "https://evil.example/jobs/"):
        with pytest.raises(InvalidRequestError, match="endpoint"):
            bindings(bench).put("email", "web", ["email.*"], endpoint)
    assert bindings(bench).get("email", "web").endpoint == ""
    found = bindings(bench).put("email", "web", ["email.*"], prefix + "mail")
    assert (found.kind, found.endpoint, found.types) == ("https", prefix + "mail", ("email.*",))


def test_2_1_a_function_has_no_endpoint_to_register(bench: Bench) -> None:
    """Its ARN is the stack's."""
    with pytest.raises(InvalidRequestError, match="what the stack says"):
        bindings(bench).put("email", "shop", ["a"], "https://app.example.com/")
    assert bindings(bench).get("email", "shop").kind == "lambda"


RETRY: Final[JsonValue] = {"non_retryable_errors": ["exit.3"]}
CONFIG: Final[dict[str, JsonValue]] = {"timeout_ms": 30_000, "retry": RETRY}


def test_2_1_a_config_is_registered_with_the_types_of_a_binding(bench: Bench) -> None:
    """In the place of the one before; each member that is not named is as the stack says."""
    shop = {**TARGETS["shop"], "config": {"timeout_ms": 9_000}}
    targets = {**bindings(bench).targets, **read_targets(json.dumps({"shop": shop}))}
    service = replace(bindings(bench), targets=targets)
    assert service.get("email", "shop").config == BindingConfig(timeout_ms=9_000)
    shown = service.put("email", "shop", ["email.*"], None, {**CONFIG})
    assert shown.config.render() == CONFIG
    assert service.put("email", "shop", ["a"], None, {}).config.timeout_ms == 9_000
    shown = service.put("email", "shop", ["a"], None, {"retry": RETRY})
    assert shown.config.render() == {"timeout_ms": 9_000, "retry": RETRY}
    assert service.delete("email", "shop").config == BindingConfig(timeout_ms=9_000)
    assert service.get("email", "other").config == NO_CONFIG


def test_2_1_a_config_that_is_refused_changes_nothing(bench: Bench) -> None:
    """Neither the types."""
    with pytest.raises(InvalidRequestError, match=r"config\.signing_secret"):
        bindings(bench).put("email", "shop", ["a"], None, {"signing_secret": "whsec_"})
    assert not bindings(bench).get("email", "shop").is_registered


@pytest.mark.parametrize(
    "types", [None, [], "email.*", ["*.send"], ["A"], [1], ["a"] * 101, ["x" * 200]]
)
def test_2_1_what_is_no_list_of_types_is_refused(bench: Bench, types: object) -> None:
    """Saying what is expected."""
    with pytest.raises(InvalidRequestError, match="job type"):
        bindings(bench).put("email", "other", types)  # type: ignore[arg-type]


def test_7_2_what_somebody_suspends_stays_suspended(bench: Bench) -> None:
    """At once, without trials; a function that cannot be invoked does not change the reason."""
    job_id = bench.push()
    shown = bindings(bench).suspend("email", "shop", "ada")
    assert shown.suspension is not None
    assert (shown.suspension.reason, shown.suspension.is_lasting) == ("suspended by ada", True)
    bench.pass_s(3600)
    bench.dispatch()
    assert bench.lambda_.waiting == []
    assert bench.job(job_id).state is JobState.AVAILABLE
    bench.states.suspend("email", "shop", "does not exist", bench.world.clock.now())
    assert bench.states.of("email").suspended["shop"] == shown.suspension
    assert bindings(bench).resume("email", "shop").suspension is None
    bench.pass_s(301)
    bench.whole()
    assert bench.job(job_id).state is JobState.COMPLETED


def test_7_2_the_finding_says_what_ends_a_suspension(bench: Bench) -> None:
    """A lasting one ends when somebody resumes it, another one when the function is right."""
    bench.states.suspend("email", "other", "does not exist", bench.world.clock.now())
    bindings(bench).suspend("email", "shop", "ada")
    hints = {
        each.data["binding"]: each.hint
        for each in bench.backend.findings().findings
        if each.code is FindingCode.BINDING_SUSPENDED
    }
    assert "Put the function or the endpoint right" in hints["other"]
    assert hints["shop"].endswith("ojs-aws bindings resume email shop")


def test_7_2_a_trial_does_not_undo_what_somebody_suspends_meanwhile(bench: Bench) -> None:
    """The trial resumes only what it has seen."""
    bench.target.is_denied = True
    bench.push()
    bench.dispatch()
    bench.pass_s(61)
    (seen,) = bench.states.of("email").suspended.values()
    tried = bench.states.begin_trial("email", "shop", seen, bench.world.clock.now())
    assert tried is not None
    assert bench.states.begin_trial("email", "shop", seen, bench.world.clock.now()) is None
    bench.states.resume("email", "shop")
    bindings(bench).suspend("email", "shop", "")
    bench.states.end_trial("email", "shop", tried)
    (now,) = bench.states.of("email").suspended.values()
    assert now.is_lasting


def test_a_backend_without_bindings_reads_nothing_for_them() -> None:
    """No call, and no unit: whoever binds no function pays nothing."""
    bench = Bench()
    bench.push()
    made, backend = bench.calls.made, bench.backend
    claimed = bench.world.messages.receive("email", 1, 30)
    made.clear()
    jobs = backend.jobs.fetch.claim_messages("email", claimed, "w", 30_000)
    assert jobs[0].record is not None
    assert made["GetItem"] == 1, "the limited types of the queue, as ever"
    assert backend.queues.bindings.targets == {}


def test_2_1_tasks_are_bound_as_functions_are() -> None:
    """By job types alone: the stack names the task definition."""
    targets = {"render": {"queues": ["media"], "types": [], "family": "Render"}}
    bench = Bench(settings=Settings(binding_targets=json.dumps(targets)))
    bench.world.registry.ensure("media", bench.world.clock.now())
    found = bindings(bench).put("media", "render", ["video.*"])
    assert (found.kind, found.types, found.endpoint) == ("ecs", ("video.*",), "")
    with pytest.raises(InvalidRequestError, match="endpoint"):
        bindings(bench).put("media", "render", ["video.*"], "https://app.example.com/jobs")
