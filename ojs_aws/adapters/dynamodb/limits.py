"""Stores the buckets of limits: one item each, all in one partition by key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from ojs_aws.adapters.dynamodb import columns as c
from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import Item, number, read_count, string
from ojs_aws.adapters.dynamodb.jobs.lists import LIMITED
from ojs_aws.adapters.dynamodb.table import Action, InTable, first_failed, item_key, update_part
from ojs_aws.adapters.dynamodb.update import Update
from ojs_aws.domain.jobs.lists import JobList
from ojs_aws.domain.limits import EXHAUSTED_EVERY_MS, Bucket, LimitScope, scope_of, tenant_key
from ojs_aws.domain.timestamps import Instant
from ojs_aws.topology import LIMIT_PARTITION, PAUSED_ATTRIBUTE

PARTITION: Final = LIMIT_PARTITION
ACTIVE: Final = "ac"
OPENED: Final = "op"
STARTED: Final = "sd"
NEXT: Final = "na"
POLICY: Final = "d"
OVERRIDE: Final = "ov"
BLOCKED: Final = "bl"
EXHAUSTED: Final = "ex"
EXHAUSTED_AT: Final = "xa"
RELEASED: Final = "rj"
QUEUES: Final = "qs"
REVISION: Final = "tr"
SCOPES: Final = "limit-scopes"
"""Partition of the one item that names the types and tenants with a limit, by its attributes."""

SCOPE_MARK: Final = "k:"
MAX_QUEUES: Final = 10
"""Queues that a bucket remembers to have jobs in."""

KEPT_S: Final = 40 * 86_400
"""How long a bucket outlives its last start: longer than any job may be active or window may be."""

MAX_NOTED: Final = 10_000
_COLUMNS: Final[c.Columns] = {
    c.TEXT: {n.SK: "key", POLICY: "policy", OVERRIDE: "override"},
    c.OPTIONAL_TEXT: {EXHAUSTED: "exhausted", RELEASED: "released"},
    c.NUMBER: {n.VERSION: "version", STARTED: "started", REVISION: "revision"},
    c.Kind(number, lambda value: max(0, int(value["N"])), 0): {ACTIVE: "active"},
    c.OPTIONAL_NUMBER: {
        OPENED: "opened_at",
        NEXT: "next_at",
        BLOCKED: "blocked_until",
        EXHAUSTED_AT: "exhausted_at",
    },
    c.STRINGS: {QUEUES: "queues"},
}
_SCOPES_KEY: Final = item_key(SCOPES, "types")


def bucket_key(key: str) -> Item:
    """Return the key of a bucket's item."""
    return item_key(PARTITION, key)


def read_bucket(item: Item) -> Bucket:
    """Return the bucket that an item holds."""
    return Bucket(**c.read_members(item, _COLUMNS))


def taking(table: str, before: Bucket, after: Bucket, job_id: str, now: Instant) -> Action:
    """Return the part of a transaction that takes a slot; fails if the bucket has changed."""
    update = Update()
    for name, value in ((OPENED, after.opened_at), (NEXT, after.next_at)):
        if value is not None:
            update.set(name, number(value))
    update.set(STARTED, number(after.started))
    if not before.override:  # an operator's policy stays, used or not
        _expire(update, now)
    if after.policy != before.policy:
        update.set(POLICY, string(after.policy))
    if before.exhausted:
        update.remove(EXHAUSTED, PAUSED_ATTRIBUTE)
        update.set(RELEASED, string(job_id))
    update.add(ACTIVE, 1)
    update.add(n.VERSION, 1)
    version = update.name(n.VERSION)
    if before.version:
        update.when(f"{version} = {update.value(number(before.version))}")
    else:
        update.when(f"attribute_not_exists({version})")
    return update_part(table, bucket_key(before.key), update)


def releasing(table: str, key: str, count: int = 1) -> Action:
    """Return the part of a transaction that gives slots back."""
    update = Update()
    update.add(ACTIVE, -count)
    return update_part(table, bucket_key(key), update)


def _expire(update: Update, end: Instant | None) -> None:
    """Let a bucket expire some time after an instant; None: never."""
    if end is None:
        update.remove(n.TTL)
    else:
        update.set(n.TTL, number(end // 1000 + KEPT_S))


def _overriding(text: str) -> Update:
    """Return the update that stores an override, or removes it where the text is empty."""
    update = Update()
    if text:
        update.set(OVERRIDE, string(text))
    else:
        update.remove(OVERRIDE, n.GPK, n.GSK, n.TYPE)
    update.add(n.VERSION, 1)
    return update


def queue_limit(queue: str, policy: str | None) -> Update:
    """Return the update that limits a whole queue, or no longer does: a row of its ready list."""
    update = _overriding(policy or "")
    if policy is not None:
        update.set(n.GPK, string(n.list_key(queue, JobList.READY)))
        update.set(n.GSK, string(LIMITED))
        update.set(n.TYPE, string(policy))
        _expire(update, None)
    return update


def _noting(policy: str, queue: str) -> Update:
    """Return the update that stores a job's policy, while there is room for another queue."""
    update = Update()
    update.set(POLICY, string(policy))
    update.add_to_set(QUEUES, {"SS": [queue]})
    known = update.name(QUEUES)
    room = f"size({known}) < {update.value(number(MAX_QUEUES))}"
    update.when(f"(attribute_not_exists({known}) OR {room})")
    return update


@dataclass(frozen=True, slots=True)
class Limits(InTable):
    """Stores the buckets of limits. Writes of jobs take slots and give them back."""

    noted: set[tuple[str, str, str]] = field(default_factory=set)

    def note(self, key: str, policy: str, queue: str, now: Instant) -> None:
        """Remember the policy that a job named; no call if this process has seen it.

        Makes one update for a policy new to this process; sometimes up to two more.
        """
        if (key, policy, queue) in self.noted:
            return
        fresh, item = _noting(policy, queue), bucket_key(key)
        _expire(fresh, now)
        fresh.when(f"attribute_not_exists({fresh.name(OVERRIDE)})")
        # An operator's policy stays, so it gets no end; nor does one with queues enough get more.
        if not self.try_update(item, fresh) and not self.try_update(item, _noting(policy, queue)):
            bare = Update()
            bare.set(POLICY, string(policy))
            self.try_update(item, bare)
        if len(self.noted) < MAX_NOTED:
            self.noted.add((key, policy, queue))

    def override(
        self, key: str, scope: LimitScope | None, text: str, until: Instant | None, now: Instant
    ) -> None:
        """Set the policy that applies to a key. Jobs that begin meanwhile notice it.

        FETCH learns of a queue's from the head of the ready list, of a type's by :meth:`scopes`.

        Makes one update; a transaction with the item of the scopes for a type. A queue's bucket
        becomes a row of its ready list.

        :param scope: the jobs that the key concerns without naming it.
        :param text: the override as it is stored.
        :param until: when it ends by itself.
        """
        if scope is not None and not scope.type:
            update = queue_limit(scope.queue, text)
        else:
            update = _overriding(text)
            _expire(update, None if until is None else max(until, now))
        self._store(key, scope, update, until or Instant(0))

    def lift(self, key: str, scope: LimitScope | None, now: Instant) -> None:
        """Remove what :meth:`override` set.

        Makes as many calls as ``override`` does.
        """
        update = _overriding("")
        _expire(update, now)
        self._store(key, scope, update, None)

    def _store(
        self, key: str, scope: LimitScope | None, update: Update, until: Instant | None
    ) -> None:
        if scope is None or not scope.type:
            self.try_update(bucket_key(key), update)
        else:
            self.transact_write_items(self._naming(key, update, until))

    def _naming(self, key: str, update: Update, until: Instant | None) -> list[Action]:
        """Return a transaction that updates a bucket, and says whether FETCH must know of it."""
        naming: dict[str, Any] = {
            "UpdateExpression": "REMOVE #k" if until is None else "SET #k = :u",
            "ExpressionAttributeNames": {"#k": SCOPE_MARK + key},
        }
        if until is not None:
            naming["ExpressionAttributeValues"] = {":u": number(until)}
        return [
            update_part(self.table, bucket_key(key), update),
            {"Update": {"TableName": self.table, "Key": _SCOPES_KEY, **naming}},
        ]

    def set_tenant(
        self, tenant: str, revision: int, text: str, now: Instant, *, limits_starts: bool
    ) -> bool:
        """Replace what was set for a tenant, which its bucket keeps as an override.

        Makes one transaction.

        :param revision: the bucket's, as it was read.
        :param text: what is set; empty to remove it.
        :param limits_starts: whether FETCH has to ask the bucket; :meth:`scopes` names it then.
        :returns: False, and nothing is changed, if somebody changed it since.
        """
        key = tenant_key(tenant)
        update = _overriding(text)
        _expire(update, None if text else now)
        update.add(REVISION, 1)
        stored = update.name(REVISION)
        seen = f"{stored} = {update.value(number(revision))}" if revision else ""
        update.when(seen or f"attribute_not_exists({stored})")
        parts = self._naming(key, update, Instant(0) if limits_starts else None)
        return not self.transact_write_items(parts, first_failed)

    def scopes(self, now: Instant) -> list[LimitScope]:
        """Return the types and tenants that have an override, in one call.

        Makes one consistent read.
        """
        item = self.get_item(_SCOPES_KEY)
        keys = (
            name.removeprefix(SCOPE_MARK)
            for name in sorted(item)
            if name.startswith(SCOPE_MARK) and not 0 < read_count(item, name) <= now
        )
        return [scope for key in keys if (scope := scope_of(key)) is not None]

    def block(self, key: str, until: Instant, exhausted: str) -> None:
        """Let no job of a key begin before an instant; an earlier one changes nothing.

        Makes one update.

        :param exhausted: what the bucket says of it.
        """
        update = Update()
        moment = update.value(number(until))
        update.set(BLOCKED, number(until))
        update.set(EXHAUSTED, string(exhausted))
        update.set(PAUSED_ATTRIBUTE, number(until))
        blocked = update.name(BLOCKED)
        update.when(f"(attribute_not_exists({blocked}) OR {blocked} < {moment})")
        self.try_update(bucket_key(key), update)

    def note_exhausted(self, key: str, exhausted: str, now: Instant) -> None:
        """Note that jobs have to wait for a bucket, unless that is noted already.

        Makes one update.
        """
        update = Update()
        update.set(EXHAUSTED, string(exhausted))
        update.set(PAUSED_ATTRIBUTE, number(now))
        update.set(EXHAUSTED_AT, number(now))
        update.when(f"attribute_not_exists({update.name(EXHAUSTED)})")
        reported, past = update.name(EXHAUSTED_AT), update.value(number(now - EXHAUSTED_EVERY_MS))
        update.when(f"(attribute_not_exists({reported}) OR {reported} <= {past})")
        self.try_update(bucket_key(key), update)

    def load(self, key: str) -> Bucket | None:
        """Return one bucket, strongly consistent.

        Makes one consistent read.
        """
        return self.load_item(bucket_key(key), read_bucket)

    def load_many(self, keys: Sequence[str]) -> dict[str, Bucket]:
        """Return those of the buckets that there are, by key; one call for a hundred."""
        found = self.get_items([*map(bucket_key, keys)], is_consistent=False)
        return {bucket.key: bucket for bucket in map(read_bucket, found)}

    def page(self, after: str, limit: int) -> Sequence[Bucket]:
        """Return up to ``limit`` buckets by key, after the named one.

        Runs one query.
        """
        answer = self.after(PARTITION, after, Limit=limit)
        return [read_bucket(item) for item in answer["Items"]]
