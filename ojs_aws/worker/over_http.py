"""Connects a worker to its server over HTTP, once it is known what the worker serves."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ojs_aws.client.areas.area import Area
from ojs_aws.client.timer import SystemTimer, Timer
from ojs_aws.client.transports.connection import HttpConnection, HttpTransport
from ojs_aws.client.transports.credentials import Credentials
from ojs_aws.client.transports.requests import RouteRequest, Values, texts_in
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import ConflictError, JsonValue
from ojs_aws.domain.json_text import RawJson, assemble, encode
from ojs_aws.typed_jobs.jobs import Jobs
from ojs_aws.worker.reservations import NO_IDS, HeartbeatReply, JobSource

_CANCELLED: Final = ("cancelled", "jobs_cancelled")
_LOST: Final = ("lost", "jobs_lost")
DEFAULT_RESERVATION_BEATS: Final = 4
"""How many heartbeats the reservation of a job lasts that names none of its own."""
SHORTEST_INTERVAL_MS: Final = 100
"""The shortest interval that the backend takes a promise of."""


class HttpJobSource(Area):
    """Fetches, acknowledges, fails and extends jobs over HTTP(S)."""

    def __init__(
        self,
        connection: HttpConnection,
        worker_id: str,
        *,
        visibility_timeout_ms: int | None = None,
        heartbeat_interval_ms: int | None = None,
        about: Mapping[str, JsonValue] | None = None,
    ) -> None:
        """Act for one worker.

        :param visibility_timeout_ms: reservation length for jobs that have none of their own.
        :param heartbeat_interval_ms: how often the worker will beat; the backend finds it dead
            after three missed heartbeats.
        :param about: what each heartbeat reports of the worker (queues, concurrency, labels ...).
        """
        super().__init__(HttpTransport(connection), SystemTimer())
        self.url = connection.base
        self._worker_id = worker_id
        self._terms: dict[str, JsonValue] = {"worker_id": worker_id}
        if visibility_timeout_ms is not None:
            self._terms["visibility_timeout_ms"] = visibility_timeout_ms
        if heartbeat_interval_ms is not None:
            self._terms["heartbeat_interval_ms"] = heartbeat_interval_ms
        if about and about.get("pool"):
            self._terms["pool"] = about["pool"]
        self._about: dict[str, JsonValue] = {
            "hostname": platform.node(),
            "pid": os.getpid(),
            **(about or {}),
        }

    async def fetch(self, queues: Sequence[str], count: int) -> list[Job]:
        """Send FETCH. Never repeated: a claim whose answer is lost comes back."""
        body: dict[str, JsonValue] = {**self._terms, "queues": [*queues], "count": count}
        return (await self._ask("fetch", body=body)).jobs

    async def ack(self, job_id: str, result: RawJson | None, *, reservation_id: str = "") -> None:
        """Send ACK; a repeat that finds the job completed is a success."""
        body = self._reporter(reservation_id) | {"job_id": job_id}
        raw = {} if result is None else {"result": result}
        await self._report("ack", _with_raw(body, raw), {"completed"})

    async def fail(
        self,
        job_id: str,
        error: dict[str, JsonValue],
        *,
        reservation_id: str = "",
        delay_ms: int | None = None,
    ) -> None:
        """Send FAIL; a repeat that finds the failure recorded is a success."""
        body = {"job_id": job_id, **self._reporter(reservation_id), "error": error}
        await self._report(
            "fail", encode(body | _delay(delay_ms)), {"retryable", "discarded", "available"}
        )

    async def requeue(
        self,
        job_id: str,
        error: dict[str, JsonValue],
        *,
        reservation_id: str = "",
        delay_ms: int | None = None,
    ) -> None:
        """Send FAIL with ``requeue``; a repeat that finds it given back is a success.

        A server that knows nothing of it takes it for a failure; one that does not know the delay
        makes the job available at once.
        """
        reporter = self._reporter(reservation_id)
        body = {"job_id": job_id, **reporter, "requeue": True, "error": error}
        done = {"available"} if delay_ms is None else {"available", "retryable"}
        await self._report("fail", encode(body | _delay(delay_ms)), done)

    async def progress(
        self, job_id: str, said: Mapping[str, JsonValue], *, reservation_id: str = ""
    ) -> bool:
        """Report progress; never repeated, the next report says more."""
        body = {**said, **self._reporter(reservation_id)}
        answer = await self._ask("report_progress", job_id=job_id, body=body, repeatable=False)
        return answer.values.get("accepted") is not False

    async def checkpoint(self, job_id: str, state: RawJson, *, reservation_id: str = "") -> None:
        """Save a checkpoint; a repeat saves the same."""
        body = _with_raw(self._reporter(reservation_id), {"state": state})
        await self._ask("save_checkpoint", job_id=job_id, body=body)

    async def heartbeat(
        self, job_ids: Sequence[str], state: str, *, reservation_ids: Mapping[str, str] = NO_IDS
    ) -> HeartbeatReply:
        """Send BEAT."""
        ids: list[JsonValue] = list(job_ids)
        body: dict[str, JsonValue] = {
            **self._about,
            **self._terms,
            "state": state,
            "active_jobs": ids,
            "active_job_ids": ids,
        }
        if reservation_ids:
            body["reservation_ids"] = dict(reservation_ids)
        try:
            values = (await self._ask("heartbeat", body=body)).values
        except ConflictError:
            # A backend up to 0.1 refuses a heartbeat whose jobs are all lost, and gives no
            # directive then: the worker stays what it is.
            return HeartbeatReply(state, lost=frozenset(job_ids))
        directive = str(values.get("state", "running"))
        return HeartbeatReply(directive, _ids(values, _CANCELLED), _ids(values, _LOST))

    def _reporter(self, reservation_id: str) -> dict[str, JsonValue]:
        """Return who reports, and for which reservation if known."""
        known: dict[str, JsonValue] = {"worker_id": self._worker_id}
        return known | {"reservation_id": reservation_id} if reservation_id else known

    async def close(self) -> None:
        """Close the connection."""
        await self._transport.close()

    async def _report(self, operation: str, body: RawJson, done: set[str]) -> None:
        """Report the end of a job, again where the answer was lost.

        :param done: the states in which a repeat finds a job whose report took effect before.
        """
        request = RouteRequest(operation=operation, body=body, repeatable=True)
        answer = await self._transport.ask(request)
        refusal = answer.error if isinstance(answer.error, ConflictError) else None
        state = refusal.details.get("current_state") if refusal and answer.sends > 1 else None
        if str(state) not in done:
            answer.or_raise()


def _delay(delay_ms: int | None) -> dict[str, JsonValue]:
    return {} if delay_ms is None else {"delay_ms": delay_ms}


def _with_raw(values: Mapping[str, JsonValue], raw: Mapping[str, RawJson]) -> RawJson:
    """Return a JSON object of values, and of texts that are JSON already."""
    return assemble({name: encode(value) for name, value in values.items()} | {**raw})


def _ids(values: Values, names: Sequence[str]) -> frozenset[str]:
    return frozenset(item for name in names for item in texts_in(values, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAccess:
    """Says how a worker reaches its server.

    :ivar url: of the server; None leaves it to ``OJS_URL`` when the worker starts.
    """

    url: str | None
    headers: Mapping[str, str] | None
    api_key: str | None
    credentials: Credentials | None
    timer: Timer

    def __post_init__(self) -> None:
        """Check the URL, if there is one.

        :raises ValueError: it is no usable URL.
        """
        if self.url is not None:
            self.connection(self.url)

    def connection(self, url: str) -> HttpConnection:
        """Return a connection to a server; nothing is opened yet."""
        return HttpConnection(
            url,
            headers=self.headers,
            api_key=self.api_key,
            credentials=self.credentials,
            timer=self.timer,
        )

    def jobs_of(
        self,
        worker_id: str,
        *,
        heartbeat_s: float,
        visibility_timeout_s: float | None,
        about: Mapping[str, JsonValue],
    ) -> HttpJobSource:
        """Return the source of a worker's jobs.

        :param about: what each heartbeat reports of the worker.
        :raises ValueError: nothing says where the server is.
        """
        visibility_s = visibility_timeout_s or heartbeat_s * DEFAULT_RESERVATION_BEATS
        return HttpJobSource(
            self.connection(self.url or url_of(os.environ)),
            worker_id,
            visibility_timeout_ms=round(visibility_s * 1000),
            heartbeat_interval_ms=max(round(heartbeat_s * 1000), SHORTEST_INTERVAL_MS),
            about=about,
        )


def about_worker(
    queues: Sequence[str], concurrency: int, labels: Sequence[str], pool: str = ""
) -> dict[str, JsonValue]:
    """Return what each heartbeat of a worker reports of it."""
    pools: dict[str, JsonValue] = {"pool": pool} if pool else {}
    return {"queues": [*queues], "concurrency": concurrency, "labels": [*labels], **pools}


def jobs_and_url(
    jobs: Jobs | str | None, url: str | None, source: JobSource | None
) -> tuple[Jobs | None, str | None]:
    """Return the typed jobs of a worker and the URL of its server, either of which came first.

    :raises ValueError: it has neither jobs, URL nor source, or both of the latter.
    """
    ways = sum(each is not None for each in (url, source)) + isinstance(jobs, str)
    if ways > 1 or (jobs is None and not ways):
        what = "and not both" if ways else "or its jobs: Worker(jobs)"
        raise ValueError(f"a worker needs the URL of a server or a source, {what}")
    return (None, jobs) if isinstance(jobs, str) else (jobs, url)


def url_of(environ: Mapping[str, str]) -> str:
    """Return the URL that the environment names.

    :raises ValueError: it names none.
    """
    if url := environ.get("OJS_URL"):
        return url
    raise ValueError("Set OJS_URL to the URL of an OJS server, or give the worker its url.")
