"""Queue routing: which rule matches, and what is refused at configuration."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware import EnqueueChain, QueueRoutingMiddleware
from ojs_aws.middleware.protocols import EnqueueSide
from tests.unit.middleware.doubles import job, store

_enqueues: EnqueueSide = QueueRoutingMiddleware({})


async def routed(rules: Any, type_: str, **members: Any) -> str:
    options = {"override": members.pop("override")} if "override" in members else {}
    chain = EnqueueChain([QueueRoutingMiddleware(rules, **options)])
    kept = await chain.run(job(type=type_, **members), store)
    assert kept is not None
    return kept.queue


@pytest.mark.parametrize(
    ("type_", "queue"),
    [
        ("email.send", "mail"),
        ("email.bulk.send", "mail"),
        ("email.urgent", "fast"),
        ("email", "default"),
        ("emails.send", "default"),
        ("report.generate", "reports"),
        ("report.generate.now", "default"),
    ],
)
async def test_mw_enq_010_013_types_and_prefixes_are_routed(type_: str, queue: str) -> None:
    rules = {"email.urgent": "fast", "email.*": "mail", "report.generate": "reports"}
    assert await routed(rules, type_) == queue


async def test_the_first_rule_that_matches_wins() -> None:
    rules: list[tuple[Any, str]] = [
        (lambda job: job.priority >= 10, "urgent"),
        ("email.*", "mail"),
        ("email.send", "never"),
        ("*", "rest"),
    ]
    assert await routed(rules, "email.send", priority=10) == "urgent"
    assert await routed(rules, "email.send") == "mail"
    assert await routed(rules, "a.b") == "rest"


async def test_a_chosen_queue_may_be_left_alone() -> None:
    rules = {"*": "rest"}
    assert await routed(rules, "a.b", queue="chosen") == "rest"
    assert await routed(rules, "a.b", queue="chosen", override=False) == "chosen"
    assert await routed(rules, "a.b", override=False) == "rest"


async def test_later_middleware_sees_the_queue() -> None:
    """MW-ENQ-011."""
    seen: list[str] = []

    async def looks(job: Job, call_next: Any) -> Job | None:
        seen.append(job.queue)
        kept: Job | None = await call_next(job)
        return kept

    await EnqueueChain([QueueRoutingMiddleware({"a.*": "q"}), looks]).run(job(), store)
    assert seen == ["q"]


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ([("a.b", "fine"), ("email.*", "Not A Queue")], "Rule 2 leads to no queue.*Not A Queue"),
        ({"email.*": ""}, "Rule 1 leads to no queue"),
        ({"email.*": None}, "Rule 1 leads to no queue"),
        ({"Email.send": "q"}, "Rule 1 can match no job: 'Email.send'"),
        ({"*.send": "q"}, "Rule 1 can match no job"),
        ({"email.**": "q"}, "Rule 1 can match no job"),
        ({".*": "q"}, "Rule 1 can match no job"),
        ({"": "q"}, "Rule 1 can match no job"),
        ([(5, "q")], "give a pattern or a function"),
    ],
)
def test_rules_that_cannot_work_are_refused_at_configuration(rules: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        QueueRoutingMiddleware(rules)


async def test_an_error_of_a_function_aborts() -> None:
    """MW-ENQ-022."""
    with pytest.raises(ZeroDivisionError):
        await routed([(lambda job: 1 / 0, "q")], "a.b")


def test_it_needs_no_event_loop() -> None:
    chain = EnqueueChain([QueueRoutingMiddleware({"a.*": "q"})])
    kept, _ = chain.run_sync(job(), lambda kept: kept)
    assert kept is not None
    assert kept.queue == "q"


async def test_fifty_at_once_get_their_own() -> None:
    rules = [(lambda job, n=n: job.args == [n], f"q{n}") for n in range(50)]
    chain = EnqueueChain([QueueRoutingMiddleware(rules)])
    kept = await asyncio.gather(*(chain.run(job(n), store) for n in range(50)))
    assert [one.queue for one in kept if one is not None] == [f"q{n}" for n in range(50)]
