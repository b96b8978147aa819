"""Reads replay rules; prunes and replays dead letters by them (ojs-dead-letter, 7 and 8).

Old dead letters end by the table's time to live, at no cost. The number of dead letters is looked
at every five minutes, queue by queue. Replay remembers, for each rule and queue, up to which
instant it has looked: every dead letter is looked at when its time has come, and then no more. The
last minute is looked at again, since the index may show rows late. So is the time since the first
job that is overdue: the sweep may discard it later, as of when it was due.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.attributes import field_error
from ojs_aws.domain.conflicts import StaleJobError
from ojs_aws.domain.errors import (
    ConflictError,
    InvalidRequestError,
    JsonValue,
    NotFoundError,
    OjsError,
)
from ojs_aws.domain.job import JobRecord, JobState
from ojs_aws.domain.jobs import lifecycle
from ojs_aws.domain.jobs.lists import Between, JobList, ListedJob, Page
from ojs_aws.domain.json_text import decode
from ojs_aws.domain.timestamps import Instant, parse_duration
from ojs_aws.services.dead_letters.search import DeadLetterFilter
from ojs_aws.services.stored_jobs import ListStop
from ojs_aws.services.stored_jobs.change import JobChanger, JobErrors
from ojs_aws.services.stored_jobs.messages import JobMessages
from ojs_aws.services.upkeep.sweep_queue import INDEX_LAG_MS

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.queues.registry import QueueRegistry
    from ojs_aws.adapters.dynamodb.watermarks import Watermarks

MAX_RULES: Final = 20
MAX_REPLAYS: Final = 100
MAX_NAME: Final = 100
_RULES_DEPTH: Final = 10

EVERY_MS: Final = 300_000
"""How often the upkeep looks (section 8.1)."""

MAX_CHANGED: Final = 500
"""Dead letters of one queue that one round removes, or looks at for one rule."""

FAILED_AGAIN_MS: Final = 3_600_000
"""How long a dead letter that could not be replayed is tried again, and one that an overdue job may
become is waited for."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRule:
    """Holds one rule.

    :ivar wanted: which dead letters it is for.
    :ivar delay_ms: how long after it was discarded a job is replayed, in milliseconds.
    :ivar max_replays: how often one job is replayed at most, by all rules together.
    """

    name: str
    wanted: DeadLetterFilter
    delay_ms: int
    max_replays: int

    def applies_to(self, job: JobRecord) -> bool:
        """Return whether this rule replays a dead letter, whatever its time."""
        replays = job.replay.count if job.replay else 0
        return replays < self.max_replays and self.wanted.accepts(job)


def read_replay_rules(text: str) -> tuple[ReplayRule, ...]:
    """Return the enabled rules of a JSON array; none for an empty text.

    :raises InvalidRequestError: naming the rule and the attribute at fault.
    """
    if not text.strip():
        return ()
    rules = decode(text, max_depth=_RULES_DEPTH)
    if not isinstance(rules, list) or len(rules) > MAX_RULES:
        raise _bad("replay_rules", f"an array of at most {MAX_RULES} rules")
    read = [_rule(rule, f"replay_rules[{index}]") for index, rule in enumerate(rules)]
    enabled = [rule for rule in read if rule is not None]
    if len({rule.name for rule in enabled}) < len(enabled):
        raise _bad("replay_rules", "rules with names of their own")
    return tuple(enabled)


def _rule(rule: JsonValue, field: str) -> ReplayRule | None:
    if not isinstance(rule, dict):
        raise _bad(field, "an object")
    name, enabled = rule.get("name"), rule.get("enabled", True)
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME:
        raise _bad(f"{field}.name", f"a text of 1 to {MAX_NAME} characters")
    if not isinstance(enabled, bool):
        raise _bad(f"{field}.enabled", "a boolean")
    replays = rule.get("max_replays", 1)
    if isinstance(replays, bool) or not isinstance(replays, int) or not 0 < replays <= MAX_REPLAYS:
        raise _bad(f"{field}.max_replays", f"a whole number from 1 to {MAX_REPLAYS}")
    delay_ms = parse_duration(rule.get("delay", "PT0S"), f"{field}.delay")
    wanted = _filter(rule.get("filter", {}), f"{field}.filter")
    made = ReplayRule(name=name, wanted=wanted, delay_ms=delay_ms, max_replays=replays)
    return made if enabled else None


def _filter(value: JsonValue, field: str) -> DeadLetterFilter:
    if not isinstance(value, dict):
        raise _bad(field, "an object")
    unknown = sorted(set(value) - {"queue", "type", "error_type"})
    if unknown:
        raise _bad(f"{field}.{unknown[0][:40]}", "one of queue, type and error_type")
    texts = _texts(value, field)
    try:
        return DeadLetterFilter(
            queue=texts.get("queue", ""),
            type=texts.get("type", ""),
            error_type=texts.get("error_type", ""),
        )
    except OjsError as problem:
        raise field_error(
            field, f"The '{field}' attribute is wrong: {problem.message}"
        ) from problem


def _texts(value: Mapping[str, JsonValue], field: str) -> dict[str, str]:
    for name, item in value.items():
        if not isinstance(item, str):
            raise _bad(f"{field}.{name}", "a text")
    return {name: str(item) for name, item in value.items()}


def _bad(field: str, expected: str) -> InvalidRequestError:
    return field_error(field, f"The '{field}' attribute must be {expected}.", expected=expected)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepReport:
    """Counts what one round did."""

    pruned: int = 0
    replayed: int = 0
    failed: int = 0


@dataclass(slots=True, kw_only=True)
class DeadLetterUpkeep:
    """Prunes and replays dead letters.

    Any round may be cut short. Each begins at another queue, so that all have their turn.
    """

    queues: QueueRegistry
    watermarks: Callable[[], Watermarks]
    changer: JobChanger
    job_messages: JobMessages
    max_count: int
    rules: Sequence[ReplayRule]
    _next_round: int = field(default=0, init=False)

    def tick(self, ends_at: Instant | None = None) -> UpkeepReport:
        """Do a round if five minutes have begun since the last one; else do nothing.

        :param ends_at: when to begin nothing more.
        """
        now = self.changer.clock.now()
        this_round = now // EVERY_MS
        if this_round < self._next_round:
            return UpkeepReport()
        self._next_round = this_round + 1
        done = Counter[str]()
        queues = sorted(self.queues.all(), key=lambda info: info.name)
        first = this_round % max(len(queues), 1)
        for info in (*queues[first:], *queues[:first]):
            if ends_at is not None and self.changer.clock.now() >= ends_at:
                break
            for what, work in self._works(info.name, now):
                try:
                    done[what] += work()
                except Exception:  # the other rules and queues must have their turn
                    _logger.exception("Dead letters of queue %s were not %s", info.name, what)
                    done["failed"] += 1
        return UpkeepReport(**done)

    def _works(self, queue: str, now: Instant) -> Iterator[tuple[str, Callable[[], int]]]:
        """Yield what is to be done for a queue, and which number of the report it adds to."""
        yield "pruned", partial(self._prune, queue)
        for rule in self.rules:
            if rule.wanted.queue in {"", queue}:
                yield "replayed", partial(self._replay, rule, queue, now)

    def _prune(self, queue: str) -> int:
        """Remove the oldest dead letters beyond the maximum."""
        excess = self.changer.store.count(queue, JobList.DEAD_LETTER).rows - self.max_count
        pruned, errors = 0, JobErrors(lambda: False)
        for page in self._oldest(queue, min(excess, MAX_CHANGED), None):
            for row in page.jobs:
                try:
                    job = self.changer.store.load(row.id)
                    if job is not None and job.state is JobState.DISCARDED:
                        pruned += self._removed(job)
                except Exception as problem:  # noqa: BLE001 - one job must not stop the others
                    errors.note(row.id, problem)
        if pruned:
            _logger.info("Pruned %d dead letters of queue %s", pruned, queue)
        return pruned

    def _removed(self, job: JobRecord) -> int:
        try:
            self.changer.store.delete(job)
        except StaleJobError:  # an operator was faster
            return 0
        return 1

    def _oldest(self, queue: str, most: int, between: Between | None) -> Iterator[Page]:
        stop = ListStop(queue, JobList.DEAD_LETTER, between)
        return stop.pages(self.changer.store, most=most, newest_first=False)

    def _replay(self, rule: ReplayRule, queue: str, now: Instant) -> int:
        """Replay what has become due for a rule since its last round."""
        watermarks, name = self.watermarks(), f"replay#{rule.name}#{queue}"
        since, until = watermarks.read(name) or Instant(0), Instant(now - rule.delay_ms)
        if until < since:
            return 0
        replayed: list[JobRecord] = []
        errors, done_until = JobErrors(lambda: False), self._settled_until(queue, until, now)
        seen, last, is_all = 0, since, False
        try:
            for page in self._oldest(queue, MAX_CHANGED, Between(since, until)):
                for row in page.jobs:
                    seen, last = seen + 1, Instant(int(row.sort_key))
                    try:
                        job = self._replayed(rule, row)
                    except Exception as problem:  # noqa: BLE001 - one job must not stop the others
                        if last > until - FAILED_AGAIN_MS:
                            done_until = min(done_until, Instant(last - 1))
                        if not isinstance(problem, ConflictError):
                            errors.note(row.id, problem)
                        continue
                    if job is not None:
                        replayed.append(job)
            is_all = seen < MAX_CHANGED
        finally:  # also where too many jobs fail: the next round goes on where this one ended
            self.job_messages.send_for(replayed, now)
            # What the index may not show yet is looked for again.
            reached = min(until, Instant(now - INDEX_LAG_MS)) if is_all else last
            reached = min(reached, done_until)
            if reached > since:
                watermarks.move(name, reached)
        if replayed:
            _logger.info("Rule %s replayed %d jobs of queue %s", rule.name, len(replayed), queue)
        return len(replayed)

    def _settled_until(self, queue: str, until: Instant, now: Instant) -> Instant:
        """Return up to when no job is overdue that became due within the last hour.

        Makes one query, of a wide queue one for each line; none for rules that wait for longer.
        """
        since = Instant(now - FAILED_AGAIN_MS)
        overdue = self.changer.store.due(queue, since, until, 1).jobs
        return Instant(overdue[0].due - 1) if overdue else until

    def _replayed(self, rule: ReplayRule, row: ListedJob) -> JobRecord | None:
        """Replay one job, if it is still a dead letter and the rule applies to it.

        :raises ConflictError: its sequence has gone on, and another job has the turn.
        """
        if rule.wanted.type and row.type != rule.wanted.type:
            return None
        clock = self.changer.clock

        def decide(job: JobRecord, now: Instant) -> JobRecord:
            if not rule.applies_to(job):
                return job
            return lifecycle.replay_discarded(job, rule.name, now, clock.order())

        try:
            change = self.changer.apply(row.id, decide)
        except NotFoundError:
            return None
        return change.after if change.after is not change.before else None
