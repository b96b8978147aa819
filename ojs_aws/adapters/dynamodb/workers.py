"""Stores the registry of workers, an item for each one that sends heartbeats, and the pools."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from ojs_aws.adapters.dynamodb import names as n
from ojs_aws.adapters.dynamodb.columns import (
    Item,
    number,
    packed,
    read_count,
    read_number,
    read_string,
    string,
    unpacked,
)
from ojs_aws.adapters.dynamodb.table import InTable, condition, item_key
from ojs_aws.adapters.dynamodb.update import ConditionFailedError, Update
from ojs_aws.domain.conflicts import ForeignWorkerError
from ojs_aws.domain.json_text import decode, encode
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workers import RUNNING, Pool, WorkerInfo, WorkerReport, read_pool

PARTITION: Final = "workers"
POOLS: Final = "pools"
"""Partition of the worker pools."""
LAST_SEEN: Final = "ls"
SEEN_BEFORE: Final = "lb"
BEATS: Final = "bn"
ACTIVE: Final = "aj"
JOB_IDS: Final = "ai"
STATE: Final = "ws"
DRAIN_WORD: Final = "wd"
INTERVAL: Final = "hi"
ABOUT: Final = "ab"
DIRECTIVE: Final = "dv"
PRINCIPAL: Final = "pr"

TERMINATE: Final = "terminate"

KEPT_S: Final = 3600
"""Workers not heard of for an hour are forgotten; they have long been shown as stale."""

MAX_JOB_IDS: Final = 32
"""Ids that an item keeps, 16 bytes each: so many that a heartbeat still costs one write unit."""

_ID_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class WorkerRegistry(InTable):
    """Registers workers that send heartbeats. Silent or ended ones are removed."""

    def beat(
        self, worker_id: str, report: WorkerReport, now: Instant, principal: str = ""
    ) -> WorkerInfo:
        """Register the worker, or update what is known of it, in one write.

        The first principal that beats for a worker owns its id until the worker is forgotten.

        Makes one update, which also returns the worker's directive.

        :param principal: who beats; empty where access is open or the worker runs inside AWS: then
            nothing is remembered and nothing checked.
        :returns: the worker, with its directive.
        :raises ForeignWorkerError: another principal owns the id; nothing is written.
        """
        has_ended = report.state == TERMINATE and not report.active_jobs
        update = Update()
        # Evaluated on the item as it was: the first heartbeat finds none before.
        update.set_if_absent(SEEN_BEFORE, LAST_SEEN, number(now))
        update.set(LAST_SEEN, number(now))
        update.add(BEATS, 1)
        update.set(STATE, string(report.state))
        update.set(DRAIN_WORD, string(report.drain_word))
        update.set(ACTIVE, number(report.active_jobs))
        update.set(n.TTL, number(now // 1000 + (0 if has_ended else KEPT_S)))
        if has_ended:
            # A process that takes the id again must not be ended by this one's directive.
            update.remove(DIRECTIVE)
        ids = _packed_ids(report.job_ids)
        if ids:
            update.set(JOB_IDS, {"B": ids})
        else:
            update.remove(JOB_IDS)
        if report.interval_ms is not None:
            update.set(INTERVAL, number(report.interval_ms))
        if report.about:
            update.set(ABOUT, packed(report.about))
        if principal:
            _own(update, principal, now)
        try:
            return read_worker(self.update_item(_key(worker_id), update, returning="ALL_NEW"))
        except ConditionFailedError:
            raise ForeignWorkerError from None

    def load(self, worker_id: str, now: Instant) -> WorkerInfo | None:
        """Return one worker, strongly consistent.

        Makes one consistent read.
        """
        item = self.get_item(_key(worker_id))
        return read_worker(item) if item and _is_kept(item, now) else None

    def page(self, after: str, limit: int, now: Instant) -> list[WorkerInfo]:
        """Return up to ``limit`` workers by id, after the named one.

        Runs one query, more only beyond a megabyte or if many have ended.
        """
        found: list[WorkerInfo] = []
        answer = self.after(PARTITION, after, Limit=limit)
        while True:
            found += [read_worker(item) for item in answer["Items"] if _is_kept(item, now)]
            start = answer.get("LastEvaluatedKey", {})
            if not start or len(found) >= limit:
                return found[:limit]
            answer = self.after(PARTITION, read_string(start, n.SK), Limit=limit)

    def direct(
        self, worker_id: str, directive: str, now: Instant, by: str = ""
    ) -> WorkerInfo | None:
        """Set the directive that a worker gets with its next heartbeat.

        Makes one conditional update.

        :param by: who does it, as ``domain.credentials`` stores it.
        :returns: the worker before; None, and nothing is written, when there is no such worker.
            A directive to terminate is never replaced by another one.
        """
        update = Update()
        update.set(DIRECTIVE, string(directive))
        update.set(n.BY, string(by))
        update.when(f"{update.name(n.TTL)} > {update.value(number(now // 1000))}")
        if directive != TERMINATE:
            held, ending = update.name(DIRECTIVE), update.value(string(TERMINATE))
            update.when(f"(attribute_not_exists({held}) OR {held} <> {ending})")
        try:
            return read_worker(self.update_item(_key(worker_id), update, returning="ALL_OLD"))
        except ConditionFailedError as failed:
            is_there = bool(failed.item) and _is_kept(failed.item, now)
            return read_worker(failed.item) if is_there else None

    def forget(self, worker_id: str, last_seen: Instant) -> bool:
        """Remove a worker; return False if there is none, or it sent a heartbeat since.

        Makes one conditional delete.
        """
        return self.try_delete(_key(worker_id), condition("#ls = :ls", ls=number(last_seen)))


@dataclass(frozen=True, slots=True)
class WorkerPools(InTable):
    """Stores worker pools: an item each, in one partition by name."""

    def load(self, name: str) -> Pool | None:
        """Return one pool.

        Makes one consistent read.
        """
        return self.load_item(item_key(POOLS, name), _read_pool)

    def all(self) -> list[Pool]:
        """Return all pools, by name.

        Runs one query, more only beyond a megabyte of pools.
        """
        return [_read_pool(item) for item in self.items("#pk = :pk", {"pk": string(POOLS)})]

    def save(self, pool: Pool) -> None:
        """Store a pool in the place of what has its name.

        Makes one put.
        """
        self.put_item(item_key(POOLS, pool.name) | {n.DOCUMENT: packed(encode({**pool.members()}))})

    def delete(self, name: str) -> bool:
        """Remove a pool; return False if there was none.

        Makes one conditional delete.
        """
        return self.try_delete(item_key(POOLS, name), condition("attribute_exists(#pk)"))


def _read_pool(item: Item) -> Pool:
    members = decode(unpacked(item[n.DOCUMENT]))
    return read_pool(read_string(item, n.SK), members if isinstance(members, dict) else {})


def _own(update: Update, principal: str, now: Instant) -> None:
    """Let a principal own the worker, unless another one does.

    An item without a principal is of before an upgrade, or of open access. One that has expired
    is forgotten, although DynamoDB has not removed it yet.
    """
    owner = update.name(PRINCIPAL)
    is_free = f"attribute_not_exists({owner})"
    is_own = f"{owner} = {update.value(string(principal))}"
    is_forgotten = f"{update.name(n.TTL)} <= {update.value(number(now // 1000))}"
    update.when(f"({is_free} OR {is_own} OR {is_forgotten})")
    update.set(PRINCIPAL, string(principal))


def _key(worker_id: str) -> Item:
    return item_key(PARTITION, worker_id)


def _is_kept(item: Item, now: Instant) -> bool:
    """Return whether an item has not expired; DynamoDB removes expired ones within days."""
    return read_count(item, n.TTL) > now // 1000


def read_worker(item: Item) -> WorkerInfo:
    """Return the worker that an item describes."""
    last_seen = Instant(read_count(item, LAST_SEEN))
    before = read_number(item, SEEN_BEFORE)
    return WorkerInfo(
        id=read_string(item, n.SK),
        last_seen=last_seen,
        beats=read_count(item, BEATS),
        seen_before=None if before in {None, last_seen} else Instant(before or 0),
        directive=read_string(item, DIRECTIVE) or RUNNING,
        state=read_string(item, STATE) or RUNNING,
        drain_word=read_string(item, DRAIN_WORD),
        active_jobs=read_count(item, ACTIVE),
        job_ids=_unpacked_ids(bytes(item[JOB_IDS]["B"])) if JOB_IDS in item else (),
        interval_ms=read_number(item, INTERVAL),
        about=unpacked(item[ABOUT]) if ABOUT in item else "",
        principal=read_string(item, PRINCIPAL),
        directed_by=read_string(item, n.BY),
    )


def _packed_ids(job_ids: Iterable[str]) -> bytes:
    return b"".join(uuid.UUID(job_id).bytes for job_id in list(job_ids)[:MAX_JOB_IDS])


def _unpacked_ids(data: bytes) -> tuple[str, ...]:
    starts = range(0, len(data), _ID_BYTES)
    return tuple(str(uuid.UUID(bytes=data[at : at + _ID_BYTES])) for at in starts)
