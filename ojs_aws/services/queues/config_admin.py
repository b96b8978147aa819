"""Creates, reads, changes and deletes queues and their settings, for operators.

ojs-queue-config, sections 5 to 9; ojs-admin-api, section 6.6.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from ojs_aws.config import Settings
from ojs_aws.domain.attributes import check_queue, invalid, not_found
from ojs_aws.domain.conflicts import StaleSettingsError
from ojs_aws.domain.credentials import Actor, stored_actor
from ojs_aws.domain.errors import ConflictError, JsonValue, NotFoundError
from ojs_aws.domain.job_policies import Limit
from ojs_aws.domain.json_text import encode
from ojs_aws.domain.limits import Bucket, queue_key
from ojs_aws.domain.limits.policies import effective
from ojs_aws.domain.queues import LimitChange, QueueInfo, QueueSettings, QueueState
from ojs_aws.domain.queues.config import (
    DEFAULT_POLICY,
    LIMIT_NAMES,
    Members,
    limit_members,
    limit_of,
)
from ojs_aws.domain.queues.config_changes import (
    SHARDS,
    changed_members,
    check_deletion,
    check_policy,
    check_wide,
)
from ojs_aws.domain.runtime import Clock
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.queues.config_view import QueueConfigView, config_view
from ojs_aws.services.queues.push_settings import AT_FETCH, push_settings_of, revived
from ojs_aws.services.queues.service import Queues
from ojs_aws.services.queues.stats import QueueStatistics

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.limits import Limits
    from ojs_aws.adapters.dynamodb.queues.settings import QueueSettingsStore
    from ojs_aws.services.queues.counters import DepthRecount

TRIES: Final = 3
"""Changes of one queue's settings that others may get in the way of."""

_LIVE: Final = ("available", "scheduled", "retryable", "pending", "active")


@dataclass(frozen=True, slots=True)
class QueueConfigAdmin:
    """Creates, reads, changes and deletes queues.

    :ivar recount: gets the bounds before a change is answered.
    """

    store: QueueSettingsStore
    limits: Callable[[], Limits]
    queues: Queues
    statistics: Callable[[], QueueStatistics]
    clock: Clock
    settings: Settings
    recount: DepthRecount

    def get(self, name: str) -> QueueConfigView:
        """Return the settings of a queue, or of the default policy.

        :raises NotFoundError: it is neither declared nor was it ever used or created.
        """
        info = None if name == DEFAULT_POLICY else self._info(name)
        found = self.store.load([name, DEFAULT_POLICY])
        limit = {} if info is None else limit_members(self._limit(name))
        return config_view(name, info, found, limit, self.settings)

    def create(
        self, name: JsonValue, config: JsonValue, by: Actor | None = None
    ) -> QueueConfigView:
        """Create a queue with its own settings.

        :raises ConflictError: there is such a queue already.
        :raises InvalidRequestError: no valid name or setting; nothing is created.
        """
        if not isinstance(name, str):
            raise invalid("name", "the name of a queue", name, missing=name is None)
        self.queues.check(check_queue(name))
        own = changed_members({}, {} if config is None else config)
        found = self.store.load([name, DEFAULT_POLICY])
        before = found.get(name, QueueSettings(queue=name))
        is_there = self.queues.registry.load(name) is not None
        if is_there and before.state is not QueueState.DELETED:
            raise ConflictError(
                f"There is a queue '{name}' already.",
                details={"queue": name, "resource_type": "queue", "resource_id": name},
                hint="PUT /ojs/v1/queues/{name}/config changes its settings.",
            )
        now = self.clock.now()
        whose = stored_actor(by, before.revision + 1)
        base = QueueSettings(queue=name, revision=before.revision, created_at=now, by=whose)
        try:
            self._save(before, base, own, self._limit_after(name, own), found.get(DEFAULT_POLICY))
        except StaleSettingsError:
            raise _busy(name) from None
        # Known last: one that is known without its settings could not be created again.
        self.queues.registry.note(name, now)
        return self._changed(name)

    def change(self, name: str, patch: JsonValue, by: Actor | None = None) -> QueueConfigView:
        """Change settings: named members are set, ``null`` removes one.

        A queue that was never used may be given settings before it is. All of the change is
        followed, or nothing.

        :raises InvalidRequestError: a setting that there is not, or that cannot be.
        :raises NotFoundError: the queue is not declared, and undeclared ones are not allowed.
        """
        is_policy = name == DEFAULT_POLICY
        if not is_policy:
            self.queues.check(name)
        for _ in range(TRIES):
            found = self.store.load([name, DEFAULT_POLICY])
            before = found.get(name, QueueSettings(queue=name))
            is_back = before.state is QueueState.DELETED
            if is_back:
                before = replace(before, members={})
            own = self._own(name, before, found.get(DEFAULT_POLICY))
            after = changed_members(own, patch)
            limit = self._limit_after(name, after)
            if not is_policy:
                check_wide(name, after, self.queues.lines.get(name, 1))
                if own.get(SHARDS) != after.get(SHARDS):
                    self.queues.copy_marks(name)  # before the first job of a further line
                self.queues.registry.note(name, self.clock.now())
            state = QueueState.ACTIVE if is_back else before.state
            base = replace(before, state=state, by=stored_actor(by, before.revision + 1))
            try:
                self._save(before, base, after, limit, found.get(DEFAULT_POLICY))
            except StaleSettingsError:
                continue
            if not is_policy and any(own.get(each) != after.get(each) for each in LIMIT_NAMES):
                self.queues.wake(name)  # messages may be set aside for the limit before
            return self._changed(name)
        raise _busy(name)

    def drain(self, name: str, by: Actor | None = None) -> QueueConfigView:
        """Let a queue take no more jobs; workers finish the present ones."""
        return self._enter(name, QueueState.DRAINING, by)

    def resume(self, name: str, by: Actor | None = None) -> Instant:
        """Let workers fetch from a queue again, and a draining queue take jobs again.

        :returns: when it was resumed.
        :raises NotFoundError: it is neither declared nor was it ever used.
        """
        at = self.queues.resume(name, by)
        self.undrain(name, by)
        return at

    def undrain(self, name: str, by: Actor | None = None) -> None:
        """Let a draining queue take jobs again."""
        found = self.store.load([name]).get(name)
        if found is not None and found.state is QueueState.DRAINING:
            self._enter(name, QueueState.ACTIVE, by)

    def delete(self, name: str, body: Mapping[str, JsonValue], by: Actor | None = None) -> Members:
        """Delete a queue that has no jobs left to run (section 5.3, strategy ``reject``).

        Its settings, limit and bound go; jobs that have ended stay until their retention is over.
        The next job for the name makes a new queue.

        :raises ConflictError: jobs are left, or the queue is declared by the deployment.
        """
        check_deletion(body)
        info = self._info(name)
        if name in self.queues.declared:
            raise ConflictError(
                f"The queue '{name}' is declared by the deployment.",
                details={"queue": name, "reason": "declared"},
                hint="Take it out of OJS_QUEUES and deploy; its settings can be reset by null.",
            )
        self._check_empty(name)
        before = self.store.load([name]).get(name, QueueSettings(queue=name))
        whose = stored_actor(by, before.revision + 1)
        base = replace(before, state=QueueState.DELETED, created_at=None, by=whose)
        try:
            self._save(before, base, {}, LimitChange(None))
        except StaleSettingsError:
            raise _busy(name) from None
        if info.paused_at is not None:
            self.queues.resume(name, by)
        said: Members = {"queue": name, "name": name, "strategy": "reject", "jobs_affected": 0}
        return said | {"state": "deleted", "deleted": True}

    def states(self) -> dict[str, QueueSettings]:
        """Return what was set for each queue; one query."""
        return {settings.queue: settings for settings in self.store.all()}

    def _info(self, name: str) -> QueueInfo:
        """Return the queue in the registry, unless it was deleted and has no jobs.

        A process that remembers its settings may push to a queue that another one has deleted.
        """
        info = self.queues.get(name)
        found = self.store.load([name]).get(name)
        if found is None or found.state is not QueueState.DELETED:
            return info
        if not self.statistics().counts(name).depth:
            message = f"There is no queue '{name}': it was deleted."
            raise not_found("queue", name, message, queue=name)
        with suppress(StaleSettingsError):  # somebody else did
            self.store.save(found, revived(found, self.clock.now()))
        return info

    def _changed(self, name: str) -> QueueConfigView:
        """Return the settings of a queue that was just created or changed.

        This process may remember a queue whose item another one has removed.
        """
        try:
            return self.get(name)
        except NotFoundError:
            self.queues.registry.register(name, self.clock.now())
            return self.get(name)

    def _enter(self, name: str, state: QueueState, by: Actor | None) -> QueueConfigView:
        self._info(name)
        for _ in range(TRIES):
            before = self.store.load([name]).get(name, QueueSettings(queue=name))
            revision, now = before.revision + 1, self.clock.now()
            whose = stored_actor(by, revision)
            after = replace(before, state=state, revision=revision, updated_at=now, by=whose)
            try:
                self.store.save(before, after)
            except StaleSettingsError:
                continue
            return self.get(name)
        raise _busy(name)

    def _own(self, name: str, before: QueueSettings, default: QueueSettings | None) -> Members:
        """Return a queue's own settings with its limit; without settings, the policy's limit."""
        if name == DEFAULT_POLICY:
            return dict(before.members)
        if before.revision == 0 and default is not None:
            inherited = {each: value for each, value in default.members.items() if each in AT_FETCH}
            return {**inherited, **limit_members(self._limit(name))}
        return {**before.members, **limit_members(self._limit(name))}

    def _limit(self, name: str) -> Limit | None:
        key = queue_key(name)
        found = self.limits().load(key)
        bucket = Bucket(key=key, override=found.override if found else "")
        return effective(None, bucket, self.clock.now(), is_scope=True)

    def _limit_after(self, name: str, members: Members) -> LimitChange | None:
        """Return the queue's limit under these settings; None if nothing is stored for it."""
        if name == DEFAULT_POLICY:
            check_policy(members)
            return None
        limit = limit_of(members, name)
        return LimitChange(None if limit is None else encode(limit.render()))

    def _save(
        self,
        before: QueueSettings,
        base: QueueSettings,
        members: Members,
        limit: LimitChange | None,
        default: QueueSettings | None = None,
    ) -> None:
        is_policy = before.queue == DEFAULT_POLICY
        kept = {each: members[each] for each in members if is_policy or each not in LIMIT_NAMES}
        revision, now = before.revision + 1, self.clock.now()
        after = replace(base, members=kept, revision=revision, updated_at=now)
        had, has = (push_settings_of(default, each).config.max_size for each in (before, after))
        if had is None and has is not None:
            self.recount.forget(before.queue, self.store.all)
        self.store.save(before, after, limit)
        if not is_policy:
            self.queues.copy_marks(before.queue)
            self.recount.bound(before.queue, has)

    def _check_empty(self, name: str) -> None:
        counts = self.statistics().counts(name)
        left = {state: counts.counts[state] for state in _LIVE if counts.counts[state]}
        if left:
            raise ConflictError(
                f"The queue '{name}' has {counts.depth} jobs that have not ended.",
                details={"queue": name, "depth": counts.depth, "counts": {**left}},
                hint="Drain it first (POST /ojs/v1/queues/{name}/drain), or purge its jobs.",
            )


def _busy(name: str) -> ConflictError:
    message = f"The settings of '{name}' are being changed by somebody else."
    hint = "Read them again, and repeat the change."
    return ConflictError(message, details={"queue": name}, hint=hint)
