"""Delivers jobs to an HTTPS endpoint, whose answer is their outcome (ojs-serverless, 2 and 7).

The handler of a job may be written in any language: it is a web handler that takes the job and
answers its result. A worker of this package claims the job, keeps its reservation, and reports.
"""

from __future__ import annotations

import functools
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.envelope import Job, uncounted_attempts
from ojs_aws.domain.json_text import assemble
from ojs_aws.domain.timestamps import Instant
from ojs_aws.middleware.context import JobContext
from ojs_aws.topology import DELIVERY_START_S
from ojs_aws.worker.delivery.answers import (
    MAX_ANSWER_BYTES,
    TIMED_OUT,
    Circuit,
    DeliveryError,
    UndeliveredError,
    WrongEndpointError,
    result_of,
    seconds_of,
    what_is_wrong,
)
from ojs_aws.worker.delivery.public_hosts import CONNECTIONS, PrivateAddressError
from ojs_aws.worker.delivery.request import (
    LateReports,
    checked_url,
    delivery_members,
    idempotency_window_s,
    signature,
    token_of,
)

if TYPE_CHECKING:
    import urllib3


TIMEOUT_S: Final = 30.0
CONNECT_S: Final = 10.0
"""The longest that a connection may take, also where an answer has more time."""
IDLE_S: Final = 300.0
"""A delivery gets more time while no answer has come for so long: the endpoint may have to start
(3.4)."""

LONGEST_WAIT_S: Final = 300
"""The longest that a job waits which was given back, in seconds."""
BUSY_WAIT_S: Final = 60
"""The same while the endpoint says that it is busy (7.2)."""
MAX_RETRY_AFTER_S: Final = 3600
"""The longest wait that an endpoint may ask for."""

_PART_BYTES: Final = 65_536
_OF_THE_HANDLER: Final = frozenset({2, 4})
"""The first digits of answers that come from a handler, and not from what is before it."""


class HttpDelivery:
    """Delivers each job by a signed POST, and makes its outcome of the answer.

    ============================== ===============================================================
    answer                         outcome
    ============================== ===============================================================
    200, ``status: completed``     the job is completed with ``result``
    200, ``status: failed``        it failed with ``error``, which says whether it is retried
    202                            it stays active, and the endpoint reports later
    other 4xx                      it failed, and is not retried
    5xx, timeout, no connection    the delivery failed, and is retried by the job's policy
    401, 403, 404, a redirect      the endpoint is wrong: the job is given back, uncounted
    429                            the job is given back, uncounted, for ``Retry-After``
    ============================== ===============================================================

    After five failed deliveries in a row, or one that says that the endpoint is wrong, jobs are
    given back without a request for a minute; then one is tried.
    """

    def __init__(
        self,
        url: str,
        *,
        signing_keys: Callable[[], Sequence[str]],
        timeout_s: float = TIMEOUT_S,
        reports: LateReports | None = None,
        pools: Callable[[], urllib3.PoolManager] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        """Connect to nothing yet.

        :param url: of the endpoint; plain HTTP is accepted for this machine only.
        :param signing_keys: returns the secrets that sign a request; two while one is replaced.
        :param timeout_s: seconds that the endpoint has for a job.
        :param reports: where it reports later after a 202; None: it must answer how a job ended.
        :param pools: returns what makes requests; by default to any address.
        :param monotonic: seconds on a clock that never goes back.
        :param wall_clock: seconds since 1970.
        :raises ValueError: no usable URL, or no positive timeout.
        """
        self.url = checked_url(url)
        if timeout_s <= 0:
            raise ValueError("timeout_s must be positive")
        self.timeout_s = timeout_s
        self.worker_id = f"push_worker_{uuid.uuid4()}"
        self._signing_keys = signing_keys
        self._reports = reports
        self._monotonic = monotonic
        self._wall_clock = wall_clock
        self._circuit = Circuit(monotonic)
        self._answered_at: float | None = None
        self._pools = pools or functools.cache(_any_pools)

    def __call__(self, ctx: JobContext, longest_s: float | None = None) -> object:
        """Deliver a job, and return its result.

        :param longest_s: seconds that the endpoint has at most, where its binding says so.
        :raises EndpointError: the endpoint says that the job failed.
        :raises DeliveryError: the delivery failed; another attempt may succeed.
        :raises UndeliveredError: the endpoint takes no jobs now.
        """
        if reason := self._circuit.refuses():
            raise self._given_back(ctx.job, reason)
        is_cold, delivery_id = self._is_cold(), f"del_{uuid.uuid4()}"
        timeout_s = self.timeout_s if longest_s is None else min(self.timeout_s, longest_s)
        timeout_s += DELIVERY_START_S if is_cold else 0
        try:
            return self._delivered(ctx, delivery_id, timeout_s)
        except DeliveryError as problem:
            problem.describe(ctx.job, delivery_id, self._circuit, is_cold=is_cold)
            raise

    def _delivered(self, ctx: JobContext, delivery_id: str, timeout_s: float) -> object:
        """Send a job, and return its result."""
        keys = self._signing_keys()
        report = self._report(ctx, keys[0])
        body = self._body(ctx.job, delivery_id, timeout_s, report)
        headers = self._headers(ctx.job, delivery_id, body, keys)
        try:
            status, retry_after, answer = self._post(body, headers, timeout_s)
        except PrivateAddressError as problem:
            raise self._wrong(ctx.job, f"has a private address ({problem})") from None
        except _no_answer() as problem:
            reason, error_type = _reason(problem, timeout_s)
            self._circuit.note_failure(reason)
            text = f"{self.url} did not answer: {reason}."
            raise DeliveryError(text, "NoAnswer", error_type) from None
        if status == HTTPStatus.ACCEPTED and report is not None:
            reports, token = report
            self._note_answer()
            ctx.hand_over()
            reports.begin(token)
            return None
        return self._outcome(ctx.job, status, retry_after, answer)

    def _note_answer(self) -> None:
        """Note that the handler has answered: it is warm, and well."""
        self._answered_at = self._monotonic()
        self._circuit.close()

    def _outcome(self, job: Job, status: int, retry_after: str, answer: bytes) -> object:
        """Return the result of a job that is completed; raise what became of another one."""
        if wrong := what_is_wrong(status):
            raise self._wrong(job, wrong)
        if status // 100 not in _OF_THE_HANDLER:
            self._circuit.note_failure(f"answers {status}")
            text = f"{self.url} answered {status}."
            raise DeliveryError(text, "EndpointCrashed", str(status))
        self._note_answer()
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            busy = "takes no more jobs now (429)"
            raise self._given_back(job, busy, seconds_of(retry_after), BUSY_WAIT_S)
        return result_of(self.url, status, answer)

    def _wrong(self, job: Job, reason: str) -> WrongEndpointError:
        """Return the error that gives a job back whose endpoint is wrong, and stop the others."""
        self._circuit.note_failure(reason, is_certain=True)
        plain = self._given_back(job, reason)
        error = WrongEndpointError(plain.delay_ms / 1000, str(plain))
        error.type, error.reason = plain.type, reason
        return error

    def _given_back(
        self, job: Job, reason: str, delay_s: int | None = None, longest_s: int = LONGEST_WAIT_S
    ) -> UndeliveredError:
        """Return the error that gives a job back.

        :param delay_s: how long it waits; by default each time twice as long, up to ``longest_s``.
        """
        if delay_s is None:
            delay_s = min(2 ** min(uncounted_attempts(job), 16), longest_s)
        delay_s = min(max(delay_s, 1), MAX_RETRY_AFTER_S)
        error = UndeliveredError(delay_s, f"The job was not delivered: {self.url} {reason}.")
        error.type = "UndeliveredError"
        return error

    def _is_cold(self) -> bool:
        """Return whether the endpoint may have to start, so that a delivery gets more time."""
        answered_at = self._answered_at
        return answered_at is None or self._monotonic() >= answered_at + IDLE_S

    def _report(self, ctx: JobContext, key: str) -> tuple[LateReports, str] | None:
        """Return where the endpoint may report later, and by which token; None: nowhere."""
        if self._reports is None:
            return None
        token = token_of(ctx.job, ctx.reservation_id, key)
        return (self._reports, token) if token else None

    def _body(
        self, job: Job, delivery_id: str, timeout_s: float, report: tuple[LateReports, str] | None
    ) -> bytes:
        deadline = Instant(round((self._wall_clock() + timeout_s) * 1000))
        members = delivery_members(job, self.worker_id, delivery_id, deadline)
        if report is not None:
            reports, token = report
            members["report"] = reports.member(token)
        return assemble(members).encode()

    def _headers(
        self, job: Job, delivery_id: str, body: bytes, keys: Sequence[str]
    ) -> dict[str, str]:
        timestamp = str(int(self._wall_clock()))
        headers = {
            "Content-Type": "application/json",
            "X-OJS-Delivery-ID": delivery_id,
            "X-OJS-Job-ID": job.id,
            "X-OJS-Timestamp": timestamp,
            "X-OJS-Idempotency-Window": str(idempotency_window_s(job, self.timeout_s)),
        }
        signatures = (signature(key, timestamp, body) for key in keys)
        return headers | {"X-OJS-Signature": ",".join(signatures)}

    def _post(
        self, body: bytes, headers: Mapping[str, str], timeout_s: float
    ) -> tuple[int, str, bytes]:
        """Return status, ``Retry-After`` and body of the answer.

        :raises TimeoutError: it has not come whole in time, though parts of it come.
        """
        import urllib3

        ends_at = self._monotonic() + timeout_s
        answer = self._pools().request(
            "POST",
            self.url,
            body=body,
            headers=headers,
            timeout=urllib3.Timeout(total=timeout_s, connect=CONNECT_S),
            redirect=False,
            preload_content=False,
        )
        try:
            content = self._read(answer, ends_at)
        except BaseException:
            answer.close()
            raise
        if len(content) > MAX_ANSWER_BYTES:
            answer.close()  # what is unread is no answer to the next request
        else:
            answer.release_conn()
        return answer.status, answer.headers.get("Retry-After", ""), content

    def _read(self, answer: urllib3.BaseHTTPResponse, ends_at: float) -> bytes:
        """Return the body of an answer, up to where it is too long."""
        content = bytearray()
        while len(content) <= MAX_ANSWER_BYTES and (part := answer.read1(_PART_BYTES)):
            content += part
            if self._monotonic() > ends_at:
                raise TimeoutError
        return bytes(content)


def _any_pools() -> urllib3.PoolManager:
    """Return what makes requests to any address."""
    import urllib3

    return urllib3.PoolManager(maxsize=CONNECTIONS, retries=False)


def _no_answer() -> tuple[type[Exception], ...]:
    """Return the errors of a request that got no answer."""
    import urllib3.exceptions as errors

    return (errors.HTTPError, OSError)


def _reason(problem: BaseException, timeout_s: float) -> tuple[str, str]:
    """Say why no answer came, without the address once more; return the type of that error, too."""
    import urllib3.exceptions as errors

    is_refused = isinstance(problem, errors.NewConnectionError)  # of urllib3, also a timeout
    if isinstance(problem, (errors.TimeoutError, TimeoutError)) and not is_refused:
        return f"no answer within {timeout_s:g} s", TIMED_OUT
    return f"no connection ({type(problem).__name__})", "network_error"
