"""Makes the requests that deliver jobs: checked, signed and timed, with a token for late reports.

A delivery carries the API's URL and a token for this attempt alone (ojs-serverless, 8). An endpoint
that answers 202 holds the job's reservation from then on: it extends it by heartbeats, and reports
how it ended. Signatures are those of ojs-webhooks, 8.1.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.job import JobRecord
from ojs_aws.domain.jobs.attempt_tokens import AttemptGrant, token_text
from ojs_aws.domain.json_text import RawJson, encode
from ojs_aws.domain.retry import parse_retry_policy
from ojs_aws.domain.timestamps import Instant, format_instant, parse_timestamp
from ojs_aws.topology import REPORT_URL, SIGNING_SECRET
from ojs_aws.worker.secrets import secret

MAX_ATTEMPTS: Final = 1000
"""Attempts that the idempotency window counts at most."""
LONGEST_JITTER: Final = 1.5
"""By how much a wait between two attempts may be longer than the policy says (ojs-retry, 5)."""

_DELIVERY: Final = "del_"

_LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def delivery_members(
    job: Job, worker_id: str, delivery_id: str, deadline: Instant
) -> dict[str, RawJson]:
    """Return the members of what a handler gets (2.2): the job, byte for byte, and its delivery.

    :param deadline: until when the answer counts.
    """
    return {
        "job": job.to_json(),
        "worker_id": encode(worker_id),
        "delivery_id": encode(delivery_id),
        "deadline": encode(format_instant(deadline)),
    }


def delivery_of(reservation_id: str) -> str:
    """Return the delivery id of a claim: each claim of a job has another one (8.1)."""
    return _DELIVERY + reservation_id


def reservation_of(delivery_id: str) -> str:
    """Return the id of the reservation that a delivery id names; empty for none."""
    return delivery_id.removeprefix(_DELIVERY) if delivery_id.startswith(_DELIVERY) else ""


def signing_keys(text: str) -> list[str]:
    """Return the keys that a secret holds, separated by commas.

    :raises ValueError: it holds none: a request must be signed (ojs-serverless, 10.1).
    """
    keys = [key.strip() for key in text.split(",") if key.strip()]
    if not keys:
        raise ValueError("The signing secret is empty: it must hold a key.")
    return keys


def signature(key: str, timestamp: str, body: bytes) -> str:
    """Return the signature of a request (ojs-webhooks, 8.1)."""
    signed = timestamp.encode() + b"." + body
    return "sha256=" + hmac.new(key.encode(), signed, hashlib.sha256).hexdigest()


def idempotency_window_s(job: Job, timeout_s: float) -> int:
    """Return for how long an endpoint should remember a delivery, in seconds (8.3).

    All attempts, each with its timeout, and the longest waits between them.
    """
    policy = replace(parse_retry_policy(job.retry), jitter=False)
    attempts = max(1, min(job.max_attempts or policy.max_attempts, MAX_ATTEMPTS))
    waits_ms = sum(policy.delay_ms(retry, job.id) for retry in range(1, attempts))
    return round(attempts * timeout_s + waits_ms * LONGEST_JITTER / 1000)


def checked_url(url: str) -> str:
    """Return a URL that jobs may be sent to.

    :raises ValueError: saying what is wrong.
    """
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in {"https", "http"} or not parts.hostname:
        raise ValueError(f"{url!r} is no URL of an endpoint, such as https://app.example.com/jobs.")
    if parts.scheme == "http" and parts.hostname not in _LOCAL:
        raise ValueError(f"Jobs go to {parts.hostname} by HTTPS only: name https://... instead.")
    if parts.username or parts.password:
        raise ValueError("The URL of an endpoint has no password: requests are signed.")
    return url


WITHIN_S: Final = 300
LONGEST_S: Final = 43_200
"""SQS hides a message for twelve hours at most."""

_BEAT_TIMEOUT_S: Final = 5.0
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LateReports:
    """Says where endpoints report, and how soon.

    :ivar url: of the API, with the path that operations are below.
    :ivar within_s: seconds that an accepted job has until its first report.
    """

    url: str
    within_s: int = WITHIN_S

    @classmethod
    def to(cls, url: str, within_s: int = WITHIN_S) -> LateReports:
        """Return where endpoints report.

        :param url: of the API, as clients have it.
        :raises ValueError: no URL of an API, or no time that a reservation can last.
        """
        if not 1 <= within_s <= LONGEST_S:
            raise ValueError(f"An accepted job has between 1 and {LONGEST_S} s to be reported on.")
        from ojs_aws.client.transports.connection import base_url  # few deliveries have a URL

        return cls(base_url(url), within_s)

    def member(self, token: str) -> RawJson:
        """Return what a delivery says of reports."""
        return encode({"url": self.url, "token": token, "within_s": self.within_s})

    def begin(self, token: str) -> None:
        """Keep the job of an accepted delivery for the endpoint, by the first heartbeat.

        Whatever becomes of it, the endpoint may report while the reservation lasts: without it as
        long as the worker's own.
        """
        import urllib3

        try:
            answer = urllib3.request(
                "POST",
                f"{self.url}/workers/heartbeat",
                body=json.dumps({"visibility_timeout_ms": self.within_s * 1000}),
                headers={"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
                timeout=_BEAT_TIMEOUT_S,
                retries=False,
                redirect=False,
            )
        except (urllib3.exceptions.HTTPError, OSError) as problem:
            said = "The reservation of an accepted job was not extended: %s"
            _logger.warning(said, type(problem).__name__)
            return
        if answer.status != HTTPStatus.OK:
            said = "%s refuses the token of a delivery (%s): an endpoint cannot report later"
            _logger.error(said, self.url, answer.status)


def token_of(job: Job, reservation_id: str, key: str) -> str:
    """Return the token for the attempt that a worker is at.

    :param reservation_id: what the backend calls the claim.
    :returns: empty where another backend says too little of the attempt.
    """
    started, timeout_ms = job.get("started_at"), job.get("timeout_ms")
    if not reservation_id or not isinstance(started, str) or not isinstance(timeout_ms, int):
        return ""
    ends_at = Instant(parse_timestamp(started, "started_at") + timeout_ms)
    grant = AttemptGrant(
        job_id=job.id, attempt=job.attempt, reservation_id=reservation_id, ends_at=ends_at
    )
    return token_text(grant, key)


def reports_of(environ: Mapping[str, str]) -> Callable[[JobRecord], RawJson] | None:
    """Return what tells a function where it may report on its job, and by which token.

    It makes no call for a job: the secret is read now, and again after five minutes.

    :returns: None where the environment names no API.
    :raises KeyError: there is no secret.
    :raises BackendError: it cannot be read.
    :raises ValueError: it is empty.
    """
    if REPORT_URL not in environ:
        return None
    url, token = tokens_of(environ)

    def member(record: JobRecord) -> RawJson:
        return encode({"url": url, "token": token(record)})

    return member


def tokens_of(environ: Mapping[str, str]) -> tuple[str, Callable[[JobRecord], str]]:
    """Return where to report on jobs, and what makes the token for a job's running attempt.

    It makes no call for a job: the secret is read now, and again after five minutes.

    :raises KeyError: the environment names no API, or no secret.
    :raises BackendError: the secret cannot be read.
    :raises ValueError: it is empty.
    """
    reports = LateReports.to(environ[REPORT_URL])

    def key() -> str:
        return signing_keys(secret(SIGNING_SECRET))[0]

    def token(record: JobRecord) -> str:
        held = record.reservation
        assert held is not None  # noqa: S101 - it was claimed
        grant = AttemptGrant(
            job_id=record.id,
            attempt=record.attempt,
            reservation_id=held.id,
            ends_at=held.execution_ends_at,
        )
        return token_text(grant, key())

    key()
    return reports.url, token
