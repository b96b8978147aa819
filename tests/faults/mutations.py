"""Breaks the adapters and services on purpose, and says which faults have to notice it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tests.faults.running import broken_by, without_faults
from tests.faults.scenarios import SCENARIOS
from tests.simulation.breakages import Mutation
from tests.simulation.mutations import applied

ADAPTERS: Final = "ojs_aws.adapters.dynamodb"


@dataclass(frozen=True, slots=True)
class Breakage:
    """One breakage.

    :ivar scenario: the one that notices it.
    """

    mutation: Mutation
    scenario: str


BREAKAGES: Final = (
    Breakage(
        Mutation(
            "sequence-given-up",
            "a sequence that could not be moved on is not looked at again",
            "ojs_aws.transport.events.stream_effects:Consequences.release",
            (
                (
                    "failed.setdefault(number, None if problem is None else trouble_of(problem))",
                    "pass",
                ),
            ),
        ),
        "sequence-goes-on",
    ),
    Breakage(
        Mutation(
            "completed-unlisted",
            "completed jobs that could not be listed are not listed later",
            "ojs_aws.transport.events.stream_effects:Consequences.list_completed",
            (("trouble = trouble_of(problem)", "return"),),
        ),
        "stream-listing",
    ),
    Breakage(
        Mutation(
            "any-version",
            "a workflow is saved whatever became of it meanwhile",
            f"{ADAPTERS}.workflows.store:Workflows.save",
            (
                (
                    "self._write(after, is_same, others)",
                    'self._write(after, condition("attribute_exists(#v)"), others)',
                ),
            ),
        ),
        "chain-moves-on",
    ),
    Breakage(
        Mutation(
            "own-write-unknown",
            "a push that finds what it wrote takes it for somebody else's",
            "ojs_aws.services.jobs.new_jobs:NewJobs.store_one",
            (("existing = self.same(record, taken.existing[0])", "raise"),),
        ),
        "push",
    ),
    Breakage(
        Mutation(
            "not-sent-again",
            "a push that finds its job sends no message for it",
            "ojs_aws.services.jobs.new_jobs:NewJobs.store_one",
            (("self.job_messages.send_for([existing], self.clock.now())", "pass"),),
        ),
        "push-undeclared",
    ),
    Breakage(
        Mutation(
            "never-taken-back",
            "a place in a bounded queue is never counted again",
            "ojs_aws.services.queues.counters:DepthRecount.tick",
            (("corrected = {}", "return {}"),),
        ),
        "push-bounded",
    ),
    Breakage(
        Mutation(
            "documents-stay",
            "the stream's consumer forgets no documents",
            "ojs_aws.transport.events.stream_effects:Consequences._forget_documents",
            (("store.forget_documents(job)", "pass"),),
        ),
        "bulk-delete",
    ),
    Breakage(
        Mutation(
            "lost-update",
            "a change of a job is written whatever became of the job meanwhile",
            f"{ADAPTERS}.jobs.store:JobStore.change",
            (
                (
                    "_be_as_read(update, before)",
                    'update.when(f"attribute_exists({update.name(n.VERSION)})")',
                ),
            ),
        ),
        "fail",
    ),
    Breakage(
        Mutation(
            "announced-though-refused",
            "events that the bus refused count as published",
            "ojs_aws.transport.events.stream_effects:Publication.announce",
            (("missing = self._put_on_bus(events)", "self._put_on_bus(events); missing = set()"),),
        ),
        "stream",
    ),
)


def noticed(breakage: Breakage) -> str:
    """The first fault that shows a breakage, and how many were tried; empty when none does."""
    scenario = next(each for each in SCENARIOS if each.name == breakage.scenario)
    wanted, faults = without_faults(scenario)
    with applied(breakage.mutation):
        for number, fault in enumerate(faults, 1):
            if any(broken_by(fault, wanted)):
                return f"{fault}, the {number}. of {len(faults)}"
    return ""
