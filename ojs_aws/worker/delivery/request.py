"""Checks, signs and times the requests that deliver jobs (ojs-serverless, 8; ojs-webhooks, 8.1)."""

from __future__ import annotations

import hashlib
import hmac
import urllib.parse
from dataclasses import replace
from typing import Final

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.json_text import RawJson, encode
from ojs_aws.domain.retry import parse_retry_policy
from ojs_aws.domain.timestamps import Instant, format_instant

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
