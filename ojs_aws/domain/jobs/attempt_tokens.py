"""Makes and checks tokens by which an endpoint reports on one attempt of a job.

An endpoint that answers 202 reports later (ojs-serverless, section 8.2), without an API key. Its
token reads ``ojs_attempt_<job>.<attempt>.<reservation>.<end>.<mac>``. Only the signature is secret,
and nothing is stored. Each claim of a job makes a new reservation. So a token is valid until the
reservation that it names ends, and at most until the attempt's own deadline.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ojs_aws.domain.access import (
    ATTEMPT,
    TOKEN_PREFIX,
    Caller,
    Permission,
    PermissionDeniedError,
)
from ojs_aws.domain.api_keys import Refusal
from ojs_aws.domain.timestamps import Instant

REPORTS: Final = frozenset(
    {
        "ack",
        "ack_job",
        "fail",
        "fail_job",
        "heartbeat",
        "info",
        "post_progress",
        "report_progress",
        "report_progress_of",
        "save_checkpoint",
    }
)
"""The operations that a token permits: reports, and reading the job. Each operation checks that the
attempt still holds its job."""

_TOKEN: Final = re.compile(
    rf"(?P<signed>{TOKEN_PREFIX}(?P<job>[0-9a-f-]{{36}})\.(?P<attempt>[0-9]{{1,10}})"
    r"\.(?P<reservation>[0-9A-Za-z_-]{1,64})\.(?P<end>[0-9]{1,15}))\.(?P<mac>[0-9a-f]{64})",
    re.ASCII,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptGrant:
    """Says what a token is for: reports on one attempt of one job.

    :ivar reservation_id: of the claim. After an operator's retry, attempts have the same numbers
        again, but other reservations.
    :ivar ends_at: when the attempt's execution timeout ends; later reports are refused.
    """

    job_id: str
    attempt: int
    reservation_id: str
    ends_at: Instant

    @property
    def caller(self) -> Caller:
        """Return the caller that the token stands for."""
        about = ATTEMPT + self.job_id
        permissions = frozenset({Permission.DEQUEUE, Permission.INSPECT})
        return Caller(id=about, name=about, permissions=permissions, attempt=self)

    def check_operation(self, operation: str) -> None:
        """Refuse an operation that is neither a report nor a read of the job.

        :raises PermissionDeniedError: naming the operation.
        """
        if operation not in REPORTS:
            raise PermissionDeniedError(
                f"This token is for reports on one attempt of a job; '{operation}' is none.",
                details={"operation": operation},
                hint="Use an API key.",
            )

    def check_report(
        self, job_id: str, reservation_id: str | None = None, attempt: int | None = None
    ) -> None:
        """Refuse a report on another job, or one that names another attempt.

        :param reservation_id: that the report names; None if it names none.
        :param attempt: the number that the report names; None if it names none.
        :raises PermissionDeniedError: naming the wrong job, reservation or attempt.
        """
        if job_id != self.job_id:
            raise _foreign("job", "job_id", job_id)
        if reservation_id not in {None, self.reservation_id}:
            raise _foreign("attempt", "reservation_id", str(reservation_id))
        if attempt not in {None, self.attempt}:
            raise _foreign("attempt", "attempt", str(attempt))


def token_text(grant: AttemptGrant, key: str) -> str:
    """Return the token for a grant, which the endpoint gets with its delivery.

    :param key: signs deliveries; the newest one if there are two.
    """
    parts = grant.job_id, str(grant.attempt), grant.reservation_id, str(grant.ends_at)
    signed = TOKEN_PREFIX + ".".join(parts)
    return f"{signed}.{_mac(signed, key)}"


def read_token(text: str) -> AttemptGrant | None:
    """Return the grant that a text claims, without checking its signature; None for no token."""
    match = _TOKEN.fullmatch(text)
    return None if match is None else _grant_of(match)


def check_token(text: str, keys: Sequence[str], now: Instant) -> AttemptGrant | Refusal:
    """Return the grant of a token, or why it is refused. Compares in constant time.

    :param keys: one of them must have signed it.
    """
    match = _TOKEN.fullmatch(text)
    if match is None:
        return Refusal.MALFORMED
    is_signed = False
    for key in keys:
        is_signed |= hmac.compare_digest(_mac(match["signed"], key), match["mac"])
    if not is_signed:
        return Refusal.UNKNOWN
    grant = _grant_of(match)
    return Refusal.EXPIRED if grant.ends_at <= now else grant


def _grant_of(match: re.Match[str]) -> AttemptGrant:
    return AttemptGrant(
        job_id=match["job"],
        attempt=int(match["attempt"]),
        reservation_id=match["reservation"],
        ends_at=Instant(int(match["end"])),
    )


def _mac(signed: str, key: str) -> str:
    """Return the signature of a token.

    The same key signs deliveries. No delivery begins with the prefix of tokens, so a signature of
    one is never valid for the other.
    """
    return hmac.new(key.encode(), signed.encode(), hashlib.sha256).hexdigest()


def _foreign(what: str, field: str, named: str) -> PermissionDeniedError:
    return PermissionDeniedError(
        f"This token is for another {what}.",
        details={"field": field, field: named[:255]},
        hint="Report with the token that the delivery brought.",
    )
