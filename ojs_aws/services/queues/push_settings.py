"""Caches the settings of queues for PUSH, which needs them for every job.

A process reads the settings of a queue with the first job for it, and again when they are older
than ``age_ms``. However many jobs come, that is one batch read for each queue and ``age_ms``. A
change applies to new jobs after ``age_ms`` at the latest; stored jobs keep what they have.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Generic, Self, TypeVar

from ojs_aws.domain.conflicts import StaleSettingsError
from ojs_aws.domain.errors import JobTypeNotAllowedError, OjsError, QueueDrainingError
from ojs_aws.domain.json_text import encode
from ojs_aws.domain.queues import LimitChange, QueueSettings, QueueState
from ojs_aws.domain.queues.config import (
    DEFAULT_POLICY,
    LIMIT_NAMES,
    QueueConfig,
    limit_of,
    read_config,
)
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.timestamps import Instant

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.queues.settings import QueueSettingsStore

ONE_REQUEST_MS: Final = 60_000
"""Longer than any request takes."""

MAX_KEPT: Final = 10_000
"""Queues, and tenants, that a process remembers."""

AT_FETCH: Final = frozenset({*LIMIT_NAMES, "visibility_timeout"})
"""Settings that FETCH reads in the queue's ready list, so the default policy is written there."""

FAIR_TRIES: Final = 5
"""Tries to make a queue fair whose settings others change at the same time."""

ReadT = TypeVar("ReadT")
SettingsT = TypeVar("SettingsT")

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PushSettings:
    """Holds the settings that apply to jobs enqueued now.

    :ivar has_tenants: whether tenants may have settings of their own.
    :ivar costs: what a start costs, by the job type; None where each costs the same.
    """

    config: QueueConfig
    state: QueueState = QueueState.ACTIVE
    has_tenants: bool = False
    costs: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class SettingsCache(Generic[ReadT, SettingsT]):
    """Returns the settings of queues or tenants, briefly cached.

    :ivar age_ms: how old what is remembered may be; 0 for nothing.
    """

    clock: Clock
    age_ms: int
    _kept: dict[str, tuple[SettingsT, Instant]] = field(default_factory=dict, kw_only=True)

    def for_one_request(self) -> Self:
        """Return a copy that reads each name at most once, for all jobs of a request."""
        return self if self.age_ms else replace(self, age_ms=ONE_REQUEST_MS, _kept={})

    def of(self, name: str) -> SettingsT:
        """Return the settings that apply to a queue or a tenant.

        If they cannot be read, those that were read last are returned; without any, the error is
        raised.
        """
        now = self.clock.now()
        kept = self._kept.get(name)
        if kept is not None and now < kept[1]:
            return kept[0]
        try:
            found = self._read(name)
        except OjsError:
            if kept is None:
                raise
            _logger.warning("Could not read the settings of '%s'", name, exc_info=True)
            return kept[0]
        settings = self._made_of(name, found, now)
        if len(self._kept) >= MAX_KEPT:
            self._kept.clear()
        self._kept[name] = settings, Instant(now + self.age_ms)
        return settings

    def _read(self, name: str) -> ReadT:
        """Read what is stored under a name."""
        raise NotImplementedError

    def _made_of(self, name: str, found: ReadT, now: Instant) -> SettingsT:
        """Return the settings that follow from what was read."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class PushSettingsCache(SettingsCache["tuple[Mapping[str, QueueSettings], bool]", PushSettings]):
    """Returns a queue's own settings over those of the default policy.

    :ivar copy_marks: lets each line of a wide queue say of it what the first one does.
    """

    store: Callable[[], QueueSettingsStore]
    copy_marks: Callable[[str], None] = lambda _: None

    def _read(self, name: str) -> tuple[Mapping[str, QueueSettings], bool]:
        return self.store().load_for_push(name)

    def _made_of(
        self, name: str, found: tuple[Mapping[str, QueueSettings], bool], now: Instant
    ) -> PushSettings:
        stored, has_tenants = found
        default, own = stored.get(DEFAULT_POLICY), stored.get(name)
        settings = replace(push_settings_of(default, own), has_tenants=has_tenants)
        if own is not None and settings.config.learns_costs:
            settings = replace(settings, costs=_costs(own))
        if own is None and default is not None:
            self._adopt(name, default, now)
        if own is not None and own.state is QueueState.DELETED:
            self._revive(own, now)
        return settings

    def admitting(self, queue: str, job_type: str) -> PushSettings:
        """Return the settings for a job that is enqueued now.

        :raises QueueDrainingError: the queue takes no jobs.
        :raises JobTypeNotAllowedError: it takes none of this type.
        """
        settings = self.of(queue)
        if settings.state is QueueState.DRAINING:
            raise QueueDrainingError(
                f"The queue '{queue}' is draining: it takes no new jobs.",
                details={"queue": queue, "state": "draining"},
                hint="Enqueue to another queue, or resume this one.",
            )
        if not settings.config.allows(job_type):
            raise JobTypeNotAllowedError(
                f"The queue '{queue}' takes no jobs of type '{job_type}'.",
                details={
                    "field": "type",
                    "queue": queue,
                    "allowed_job_types": [*settings.config.allowed_job_types],
                },
            )
        return settings

    def make_fair(self, queue: str) -> None:
        """Make a queue fair by the keys of its jobs, unless it is: a read and a write, once.

        A wide one says so in each of its lines; the sweep tells those that have not heard.

        :raises BackendError: nobody knows whether it is fair; the jobs must not be stored.
        """
        if self.of(queue).config.fair_by is not None:
            return
        now = self.clock.now()
        self._kept.pop(queue, None)
        for _ in range(FAIR_TRIES):
            before = self.store().load([queue]).get(queue, QueueSettings(queue=queue))
            if "fairness" in before.members:
                return
            members = {**before.members, "fairness": {}}
            after = replace(before, members=members, revision=before.revision + 1, updated_at=now)
            try:
                self.store().save(before, after)
            except StaleSettingsError:
                continue
            self._tell_lines(queue)
            return
        _logger.warning("Could not make queue %s fair: others change its settings", queue)

    def _tell_lines(self, queue: str) -> None:
        """Let each line of a wide queue say that it is fair; the sweep does where this fails.

        Until then due jobs of a line stand behind those that have places.
        """
        try:
            self.copy_marks(queue)
        except OjsError:
            _logger.warning("Could not tell the lines of %s that it is fair", queue, exc_info=True)

    def _adopt(self, queue: str, default: QueueSettings, now: Instant) -> None:
        """Write a new queue's limit into its ready list, where FETCH reads it; into each line."""
        inherited = {name: value for name, value in default.members.items() if name in AT_FETCH}
        if not inherited:
            return
        limit = limit_of(inherited, queue)
        members = {name: value for name, value in inherited.items() if name not in LIMIT_NAMES}
        before = QueueSettings(queue=queue)
        after = replace(before, members=members, revision=1, updated_at=now)
        policy = None if limit is None else LimitChange(encode(limit.render()))
        try:
            self.store().save(before, after, policy)
            self.copy_marks(queue)
        except (OjsError, StaleSettingsError):
            _logger.warning("Could not give queue %s the default policy", queue, exc_info=True)

    def _revive(self, deleted: QueueSettings, now: Instant) -> None:
        """Let a deleted queue begin again with its next job."""
        try:
            self.store().save(deleted, revived(deleted, now))
        except StaleSettingsError:
            return


def _costs(own: QueueSettings) -> Mapping[str, float]:
    """Return what starts cost by the run times that were learnt."""
    from ojs_aws.domain.fairness import costs_of, read_run_times  # few queues learn them

    return costs_of(read_run_times(own.run_times))


def revived(deleted: QueueSettings, now: Instant) -> QueueSettings:
    """Return the settings of a deleted queue that has jobs again: none of those it had."""
    return QueueSettings(
        queue=deleted.queue, revision=deleted.revision + 1, created_at=now, updated_at=now
    )


def push_settings_of(default: QueueSettings | None, own: QueueSettings | None) -> PushSettings:
    """Combine a queue's settings with the default policy."""
    members = {**(default.members if default else {}), **(own.members if own else {})}
    if default is not None and own is not None:
        spans = [each.members.get("retention") for each in (default, own)]
        layers = [span for span in spans if isinstance(span, dict)]
        if layers:
            members["retention"] = {name: span for layer in layers for name, span in layer.items()}
    state = own.state if own else QueueState.ACTIVE
    return PushSettings(read_config(members), state)
