"""Breaks the code on purpose, once in each way, and sees that the simulation notices.

    python -m tests.simulation.mutations [--steps 300000] [--seed 1] [name ...]

Each breakage is a piece of a function's text and what stands there instead; the patched function is
compiled in its own module, and put back afterwards. A piece that is not there any more is an error:
the list is to be kept true.
"""

from __future__ import annotations

import argparse
import builtins
import dis
import functools
import importlib
import inspect
import textwrap
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any, Final, cast

from rich.console import Console
from rich.table import Table

from tests.simulation.search import Search

STEPS: Final = 300_000
SOUND_STEPS: Final = 10_000

_FUTURE: Final = "from __future__ import annotations\n"

STORE: Final = "tests.simulation.memory.jobs:MemoryStore"


@dataclass(frozen=True, slots=True)
class Mutation:
    """One breakage.

    :ivar where: ``module:function`` or ``module:Class.method``.
    :ivar changes: what stands there, and what stands there instead.
    """

    name: str
    what: str
    where: str
    changes: tuple[tuple[str, str], ...]


MUTATIONS: Final = (
    Mutation(
        "claim-anything",
        "the claim's condition on the state is dropped",
        f"{STORE}.claim",
        (
            ("current.state is not JobState.AVAILABLE", "current.state.is_terminal"),
            (
                "lifecycle.claim(current,",
                "lifecycle.claim(replace(current, state=JobState.AVAILABLE),",
            ),
        ),
    ),
    Mutation(
        "ack-for-others",
        "ACK's condition on the holder is dropped",
        f"{STORE}.acknowledge",
        (('or (worker_id is not None and held.worker_id not in {"", worker_id})', ""),),
    ),
    Mutation(
        "ack-too-late",
        "ACK's condition on the end of the reservation is dropped",
        f"{STORE}.acknowledge",
        (("or held.due_at <= now", ""),),
    ),
    Mutation(
        "ack-by-any-clock",
        "ACK's condition on the start is dropped",
        f"{STORE}.acknowledge",
        (("or (current.started_at or 0) > now", ""),),
    ),
    Mutation(
        "lost-update",
        "the condition on the version is dropped",
        f"{STORE}.save",
        (("current is None or current.version != before.version", "current is None"),),
    ),
    Mutation(
        "place-kept",
        "the end of an attempt gives no place in a bucket back",
        f"{STORE}.release",
        (("for key in held - kept:", "for key in ():"),),
    ),
    Mutation(
        "two-under-one-key",
        "the condition on the lock of a uniqueness key is dropped",
        "tests.simulation.memory.unique:MemoryUniqueJobs.admit",
        (("found is not None and found != each.seen", "False"),),
    ),
    Mutation(
        "key-given-away",
        "a unique job takes a key before the holder's end is written down",
        "ojs_aws.services.unique:Uniqueness._settled",
        (("self.changing.settled(holder, now)", "lifecycle.settle(holder, now)"),),
    ),
    Mutation(
        "push-lies",
        "PUSH answers although its write failed",
        "ojs_aws.services.push:Push._keep_one",
        (
            (
                "return Pushed(existing, is_new=False)",
                "return Pushed(existing, is_new=False)\n    except Exception:\n        pass",
            ),
        ),
    ),
    Mutation(
        "too-early",
        "time-driven transitions do not wait for their time",
        "ojs_aws.domain.lifecycle:settle_once",
        (("if due is None or due > now:", "if due is None:"),),
    ),
    Mutation(
        "uncounted",
        "a claim does not count the attempt",
        "ojs_aws.domain.lifecycle:claim",
        (("attempt=job.attempt + 1", "attempt=max(job.attempt, 1)"),),
    ),
    Mutation(
        "never-exhausted",
        "a failure does not look at the number of attempts",
        "ojs_aws.domain.lifecycle:fail",
        ((" or job.attempt >= job.allowed_attempts", ""),),
    ),
    Mutation(
        "beat-for-others",
        "BEAT does not look who holds the job",
        "ojs_aws.services.heartbeat:Heartbeat._extend",
        (('check_holder(held, "extend", worker.id if worker else None)', "pass"),),
    ),
    Mutation(
        "beat-shortens",
        "a heartbeat may end a reservation earlier",
        "ojs_aws.domain.lifecycle:_extended",
        (("max(expires_at, held.expires_at)", "expires_at"),),
    ),
    Mutation(
        "given-all-the-same",
        "FETCH gives out a job although another fetcher was faster",
        "ojs_aws.services.claiming:Round._lost",
        (
            (
                "if current is None:",
                (
                    "for each in [current] if current and current.reservation else []:\n"
                    "        self.claimed.append(each)\n    if current is None:"
                ),
            ),
        ),
    ),
    Mutation(
        "stray-messages",
        "messages that found nothing to run are not deleted",
        "ojs_aws.services.left_over:LeftOver.give_back",
        (("self.waking.discard(self.queue, stray)", "pass"),),
    ),
    Mutation(
        "no-cover",
        "the sweep sends no message again for ready jobs",
        "ojs_aws.services.sweeping:QueueSweep._cover",
        (("if not late or head.is_paused:", "if True:"),),
    ),
    Mutation(
        "logged-before",
        "the stream's consumer notes events as told before it tells them",
        "ojs_aws.transport.events.stream:StreamConsumer._append",
        (
            (
                "self._backend.events.append(",
                (
                    "self._memory.logged.update(event.id for event in missing)\n"
                    "    self._backend.events.append("
                ),
            ),
        ),
    ),
    Mutation(
        "failures-untold",
        "the stream's consumer does not say what must come again",
        "ojs_aws.transport.events.stream:StreamConsumer.handle",
        (("[] if first is None else", "[] if True else"),),
    ),
    Mutation(
        "occurrence-twice",
        "a cron job enqueues before it has claimed the occurrence",
        "ojs_aws.services.cron_firing:CronFiring.fire",
        (
            (
                "self.entries.save(entry, claimed)",
                "self._enqueued(claimed); self.entries.save(entry, claimed)",
            ),
        ),
    ),
    Mutation(
        "batch-in-part",
        "a batch is stored without its last job",
        f"{STORE}.insert_all",
        (("for job in jobs}", "for job in jobs[: max(1, len(jobs) - 1)]}"),),
    ),
    Mutation(
        "batch-left-behind",
        "the sweep does not finish batches whose processes died",
        "ojs_aws.services.batch_placing:Placing.tick",
        (("for batch in self.batches.open():", "for batch in ():"),),
    ),
    Mutation(
        "workflow-forgotten",
        "the stream's consumer does not try a workflow again that it could not move on",
        "ojs_aws.services.workflow_following:follow",
        (
            (
                "failed.update(dict.fromkeys((number for number, _ in group), problem))",
                "del problem",
            ),
        ),
    ),
    Mutation(
        "bound-forgotten",
        "a bounded queue takes jobs without counting them first",
        "ojs_aws.services.backpressure:Backpressure._take",
        (("self.depths().take(queue, count, bound)", "self.depths().add(queue, 0) or 0"),),
    ),
    Mutation(
        "full-for-ever",
        "places that a dead process took are not counted anew",
        "ojs_aws.services.backpressure:Backpressure.recount",
        (("depths.correct(queue, counted, now)", "True"),),
    ),
    Mutation(
        "full-for-the-repeated",
        "a push that is repeated needs a place a second time",
        "ojs_aws.services.push:Push._placed",
        (("if not self._is_there(records):", "if True:"),),
    ),
    Mutation(
        "pause-ignored",
        "FETCH does not look whether the queue is paused",
        "tests.simulation.memory.jobs:MemoryStore.head",
        (("queue in self.paused", "False"),),
    ),
    Mutation(
        "throttle-ignored",
        "a throttle lets each job begin",
        "ojs_aws.domain.limits:take",
        (("bucket.next_at is not None and now < bucket.next_at", "False"),),
    ),
    Mutation(
        "checkpoint-lost",
        "a checkpoint is not written",
        "ojs_aws.domain.lifecycle:save_checkpoint",
        (("checkpoint=saved, checkpoints", "checkpoints"),),
    ),
    Mutation(
        "together-by-any-clock",
        "jobs are changed together by the clock of whoever does it",
        "ojs_aws.services.bulk_changes:BulkChanges._together",
        (("max(now, lifecycle.last_change(job))", "now"),),
    ),
    Mutation(
        "deleted-alive",
        "a bulk deletion takes jobs in any state",
        "ojs_aws.services.bulk_changes:BulkChanges._change",
        (("require_any(settled, STATES[action])", "pass"),),
    ),
)


@contextmanager
def applied(mutation: Mutation) -> Iterator[None]:
    """Break the code for a while.

    :raises LookupError: a piece of text is not there.
    """
    whole = _function(mutation)
    made: dict[str, Any] = {}
    code = compile(_FUTURE + patched(mutation), "broken", "exec")
    exec(code, whole.__globals__, made)  # noqa: S102 - our own code, broken on purpose
    before = whole.__code__
    whole.__code__ = inspect.unwrap(
        made[whole.__name__]
    ).__code__  # whoever has imported it, has it broken
    try:
        yield
    finally:
        whole.__code__ = before


def _function(mutation: Mutation) -> FunctionType:
    module_name, _, path = mutation.where.partition(":")
    module: Any = importlib.import_module(module_name)
    found = functools.reduce(getattr, path.split("."), module)
    return cast("FunctionType", inspect.unwrap(found))


def unknown_names(mutation: Mutation) -> set[str]:
    """Names that the broken function uses and its module does not know: those would be noticed."""
    codes, used = [compile(_FUTURE + patched(mutation), "broken", "exec")], set[str]()
    while codes:
        code = codes.pop()
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
        used |= {each.argval for each in dis.get_instructions(code) if "GLOBAL" in each.opname}
    return used - _function(mutation).__globals__.keys() - vars(builtins).keys()


def patched(mutation: Mutation) -> str:
    """The text of the broken function.

    :raises LookupError: a piece of text is not there, or more than once.
    """
    text = textwrap.dedent(inspect.getsource(_function(mutation)))
    for old, new in mutation.changes:
        if text.count(old) != 1:
            found = text.count(old)
            raise LookupError(f"{mutation.name}: {old!r} stands {found} times in {mutation.where}")
        text = text.replace(old, new)
    return text


@dataclass(frozen=True, slots=True)
class Caught:
    """What the simulation found; empty when it found nothing."""

    problem: str
    runs: int
    steps: int
    seconds: float


def hunt(mutation: Mutation, seed: int, most_steps: int) -> Caught:
    """Simulate with the breakage until a promise is broken."""
    began, searching = time.monotonic(), Search(seed)
    with applied(mutation):
        for _ in searching.go(most_steps):
            pass
    problem = searching.failed[0][1].problem if searching.failed else ""
    return Caught(problem, searching.runs, searching.steps, time.monotonic() - began)


def whole(seed: int) -> str:
    """What is wrong while nothing is broken: then everything would seem to be noticed."""
    searching = Search(seed)
    for _ in searching.go(SOUND_STEPS):
        pass
    return searching.failed[0][1].problem if searching.failed else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Try each breakage; 1 when one was not noticed."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.mutations")
    parser.add_argument("--steps", type=int, default=STEPS, help="calls to make at most, for each")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--markdown", action="store_true", help="the table of docs/simulation.md")
    parser.add_argument("names", nargs="*", help="only these")
    given = parser.parse_args(arguments)
    console = Console()
    table = Table("breakage", "calls until noticed", "as", title="broken on purpose")
    missed, rows = 0, list[str]()
    if problem := whole(given.seed):
        console.print(f"Nothing is broken on purpose, and yet: {problem}", markup=False)
        return 1
    for mutation in MUTATIONS:
        if given.names and mutation.name not in given.names:
            continue
        with console.status(mutation.what):
            caught = hunt(mutation, given.seed, given.steps)
        missed += not caught.problem
        noticed = f"{caught.steps:,}" if caught.problem else "[red]not noticed"
        table.add_row(mutation.what, noticed, caught.problem.partition("; by")[0][:90])
        rows.append(f"| {mutation.what} | {caught.steps if caught.problem else 'not noticed'} |")
    if given.markdown:
        print("\n".join(["| broken | calls until noticed |", "|---|---:|", *rows]))
        return 1 if missed else 0
    console.print(table)
    console.print(f"{missed} not noticed" if missed else "each was noticed")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
