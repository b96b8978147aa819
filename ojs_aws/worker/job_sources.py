"""Connects a worker to its server, once it is known what the worker serves."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ojs_aws.client.timer import Timer
from ojs_aws.client.transports.connection import HttpConnection
from ojs_aws.client.transports.credentials import Credentials
from ojs_aws.domain.errors import JsonValue
from ojs_aws.typed_jobs.jobs import Jobs
from ojs_aws.worker.over_http import HttpJobSource
from ojs_aws.worker.reservations import JobSource

BEATS_PER_RESERVATION: Final = 4
SHORTEST_INTERVAL_MS: Final = 100
"""The shortest interval that the backend takes a promise of."""


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
        visibility_s = visibility_timeout_s or heartbeat_s * BEATS_PER_RESERVATION
        return HttpJobSource(
            self.connection(self.url or url_of(os.environ)),
            worker_id,
            visibility_timeout_ms=round(visibility_s * 1000),
            heartbeat_interval_ms=max(round(heartbeat_s * 1000), SHORTEST_INTERVAL_MS),
            about=about,
        )


def about_worker(
    queues: Sequence[str], concurrency: int, labels: Sequence[str]
) -> dict[str, JsonValue]:
    """Return what each heartbeat of a worker reports of it."""
    names: list[JsonValue] = list(queues)
    tags: list[JsonValue] = list(labels)
    return {"queues": names, "concurrency": concurrency, "labels": tags}


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
