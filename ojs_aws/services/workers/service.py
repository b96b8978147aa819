"""Shows and directs workers for operators (ojs-admin-api, section 9; worker protocol, section 4).

A directive is written into the worker's own item and answered with its next heartbeat, so that
heartbeats cost no further read. Directing several workers means those that are there now: workers
that start later, those of the next deployment for one, do not get it.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.access import UNBOUND, View
from ojs_aws.domain.attributes import not_found, wrong_state
from ojs_aws.domain.credentials import Actor, stored_actor
from ojs_aws.domain.errors import InvalidRequestError, JsonValue, NotFoundError
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.timestamps import Instant
from ojs_aws.domain.workers import WorkerInfo
from ojs_aws.services.stored_jobs.change import JobChanger
from ojs_aws.services.workers import silence_ms

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.workers import WorkerRegistry

MAX_COUNTED: Final = 2000
"""Workers that a list's summary counts; beyond, it says that it is not exact."""

MAX_DIRECTED: Final = 1000
"""Workers directed by one request; beyond, it says that there are more."""

_PAGE: Final = 500


class Directive(StrEnum):
    """Names what a worker can be asked to do (worker protocol, section 2.1)."""

    RUNNING = "running"
    QUIET = "quiet"
    TERMINATE = "terminate"


STALE: Final = "stale"
"""Shown in the place of the state of a worker that missed its heartbeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPage:
    """Holds a page of workers by id.

    :ivar cursor: empty on the last page.
    :ivar summary: how many there are in all, and in each state.
    :ivar is_exact: False when there are more than were counted.
    """

    workers: tuple[WorkerInfo, ...]
    cursor: str
    summary: Mapping[str, int]
    is_exact: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Selects the workers that a directive is for.

    :ivar queue: those that serve it; empty for any.
    :ivar label: those that carry it; empty for any.
    """

    queue: str = ""
    label: str = ""

    def chooses(self, worker: WorkerInfo) -> bool:
        """Return whether a worker is selected."""
        about = read_about(worker)
        return (not self.queue or self.queue in _texts(about.get("queues"))) and (
            not self.label or self.label in _texts(about.get("labels"))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Directed:
    """Holds the result of directing several workers.

    :ivar directed: ids of those that will get the directive.
    :ivar refused: ids of those that terminate already; they get no other directive.
    :ivar cursor: where to go on; empty when all were reached.
    """

    directed: tuple[str, ...]
    refused: tuple[str, ...]
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class Workers:
    """Lists, directs and removes workers."""

    registry: WorkerRegistry
    changer: JobChanger

    def list(
        self, limit: int = 50, cursor: str = "", offset: int = 0, view: View = UNBOUND
    ) -> WorkerPage:
        """Return workers by id, with a summary of all of them.

        :param cursor: id of the last worker of the page before.
        :param view: what the caller may see: workers all of whose queues it includes.
        """
        now = self.changer.clock.now()
        everybody = self.registry.page("", MAX_COUNTED + 1, now)
        is_exact = len(everybody) <= MAX_COUNTED
        everybody = [each for each in everybody[:MAX_COUNTED] if is_seen(each, view)]
        states = Counter(state_of(worker, now) for worker in everybody)
        rest: Sequence[WorkerInfo]
        if is_exact or not cursor:
            rest = [worker for worker in everybody if worker.id > cursor][offset:]
        else:
            rest = self._behind(cursor, offset + limit + 1, now, view)[offset:]
        shown = rest[:limit]
        return WorkerPage(
            workers=tuple(shown),
            cursor=shown[-1].id if shown and len(rest) > limit else "",
            summary={"total": len(everybody), **{s: states[s] for s in (*Directive, STALE)}},
            is_exact=is_exact,
        )

    def _behind(self, cursor: str, count: int, now: Instant, view: View) -> Sequence[WorkerInfo]:
        """Return the next workers of a list that is too long to be read at once."""
        if view == UNBOUND:
            return self.registry.page(cursor, count, now)
        there = itertools.islice(self._all(cursor, now), MAX_COUNTED)
        return [*itertools.islice((each for each in there if is_seen(each, view)), count)]

    def get(self, worker_id: str, view: View = UNBOUND) -> WorkerInfo:
        """Return one worker, if the caller may see it.

        :raises NotFoundError: it never beat, has ended, or has been silent for an hour.
        """
        worker = self.registry.load(worker_id, self.changer.clock.now())
        if worker is None or not is_seen(worker, view):
            raise unknown_worker(worker_id)
        return worker

    def direct(self, worker_id: str, directive: Directive, by: Actor | None = None) -> WorkerInfo:
        """Set the directive that a worker gets with its next heartbeat.

        :param by: who does it.
        :returns: the worker before.
        :raises NotFoundError: there is no such worker.
        :raises ConflictError: its directive is to terminate, and that is final (section 2.3).
        """
        now = self.changer.clock.now()
        worker = self.registry.direct(worker_id, directive, now, stored_actor(by, now))
        if worker is None:
            raise unknown_worker(worker_id)
        if _is_final(worker, directive):
            why = f"it cannot become {directive} any more."
            message = f"Worker '{worker_id}' terminates; {why}"
            hint = "Start a new worker process."
            raise wrong_state("worker", worker_id, Directive.TERMINATE, message, hint)
        return worker

    def direct_all(
        self,
        selection: Selection,
        directive: Directive,
        cursor: str = "",
        by: Actor | None = None,
    ) -> Directed:
        """Direct every selected worker that exists now; at most 1000 in one call."""
        now = self.changer.clock.now()
        directed: list[str] = []
        refused: list[str] = []
        last = ""
        for worker in self._all(cursor, now):
            if len(directed) + len(refused) >= MAX_DIRECTED:
                return Directed(directed=tuple(directed), refused=tuple(refused), cursor=last)
            last = worker.id
            if selection.chooses(worker):
                before = self.registry.direct(worker.id, directive, now, stored_actor(by, now))
                if before is not None:
                    (refused if _is_final(before, directive) else directed).append(worker.id)
        return Directed(directed=tuple(directed), refused=tuple(refused))

    def _all(self, after: str, now: Instant) -> Iterator[WorkerInfo]:
        while page := self.registry.page(after, _PAGE, now):
            yield from page
            if len(page) < _PAGE:
                return
            after = page[-1].id

    def deregister(self, worker_id: str) -> tuple[str, ...]:
        """Remove a worker that missed its heartbeats, and settle its last jobs.

        Its jobs come back by themselves at that very time; settling them here only spares those
        who look at them the write.

        :returns: ids of the jobs that it held no more.
        :raises NotFoundError: there is no such worker.
        :raises ConflictError: it still beats.
        """
        now = self.changer.clock.now()
        worker = self.get(worker_id)
        if state_of(worker, now) != STALE or not self.registry.forget(worker_id, worker.last_seen):
            why = "only a worker that missed its heartbeats can be removed."
            message = f"Worker '{worker_id}' is alive: {why}"
            hint = "Quiet or terminate it instead."
            raise wrong_state("worker", worker_id, worker.state, message, hint)
        jobs = self.changer.store.load_many(worker.job_ids) if worker.job_ids else {}
        held = [
            job
            for job in jobs.values()
            if job.reservation is not None and job.reservation.worker_id == worker_id
        ]
        return tuple(job.id for job in held if self._is_let_go(job, now))

    def _is_let_go(self, job: JobRecord, now: Instant) -> bool:
        try:
            return self.changer.settled(job, now).reservation is None
        except NotFoundError:  # it was removed meanwhile
            return False


def state_of(worker: WorkerInfo, now: Instant) -> str:
    """Return the state to show: its own report, or ``stale`` after three missed heartbeats."""
    return STALE if worker.last_seen + silence_ms(worker) <= now else worker.state


def is_seen(worker: WorkerInfo, view: View) -> bool:
    """Return whether a view includes a worker: all of its queues, of which it must name some."""
    if view == UNBOUND:
        return True
    queues = queues_of(worker)
    return bool(queues) and all(view.shows(queue) for queue in queues)


def read_about(worker: WorkerInfo) -> dict[str, JsonValue]:
    """Return what a worker reported of itself."""
    about = json.loads(worker.about) if worker.about else {}
    return about if isinstance(about, dict) else {}


def queues_of(worker: WorkerInfo) -> list[str]:
    """Return the queues that a worker says it serves."""
    return _texts(read_about(worker).get("queues"))


def slots_of(worker: WorkerInfo) -> int:
    """Return how many jobs a worker executes at the same time; 0 if it does not say it."""
    slots = read_about(worker).get("concurrency")
    return slots if isinstance(slots, int) else 0


def directive_of(name: str) -> Directive:
    """Return an action's directive: ``quiet``, ``terminate``, and ``resume`` or ``running``.

    :raises InvalidRequestError: another name.
    """
    try:
        return Directive.RUNNING if name == "resume" else Directive(name)
    except ValueError:
        raise InvalidRequestError(
            f"The 'directive' attribute must be quiet, terminate or resume, not {name[:40]!r}.",
            details={"field": "directive", "received": name[:40]},
        ) from None


def _is_final(before: WorkerInfo, directive: Directive) -> bool:
    return before.directive == Directive.TERMINATE and directive is not Directive.TERMINATE


def _texts(value: JsonValue) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def unknown_worker(worker_id: str) -> NotFoundError:
    """Return the error for a worker that does not exist."""
    hint = "Workers are known from their first heartbeat until an hour after their last."
    return not_found("worker", worker_id[:256], f"Worker '{worker_id[:100]}' not found.", hint)
