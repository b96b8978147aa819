"""Send requests to one OJS server over HTTPS, send them again, and raise its errors."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from ojs_aws.client.results import Stored, error_in
from ojs_aws.client.timer import SystemTimer, Timer
from ojs_aws.client.transports.credentials import Credentials, chosen_credentials, without_password
from ojs_aws.client.transports.requests import (
    Answer,
    RouteRequest,
    ask_to_change,
    object_in,
    objects_in,
    text_in,
)
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import BackendError, BackendUnavailableError, DuplicateError, OjsError
from ojs_aws.domain.json_text import assemble, assemble_array, parse_object

if TYPE_CHECKING:
    import httpx

BASE_PATH: Final = "/ojs/v1"
CONTENT_TYPE: Final = "application/openjobspec+json"
MAX_DEPTH: Final = 1000
"""Deepest nesting read from answers: more than any server accepts in a job."""

_REFUSED_BEFORE_WORK: Final = frozenset({429})
_PERHAPS_DONE: Final = frozenset({500, 502, 503, 504})


@dataclass(frozen=True, slots=True, kw_only=True)
class Resends:
    """Says when, and how often, a request is sent again.

    :ivar limit: resends of one request at most; 0 switches them off.
    :ivar first_delay_s: wait before the first resend, in seconds; it doubles each time, and half
        of it is left to chance.
    :ivar max_retry_after_s: longest ``Retry-After`` that is waited for; a longer one is an error.
    """

    limit: int = 4
    first_delay_s: float = 0.2
    max_delay_s: float = 5.0
    max_retry_after_s: float = 30.0

    def delay_s(self, resend: int, chance: float) -> float:
        """Return the seconds to wait before a resend, counted from 1."""
        full = min(self.first_delay_s * 2.0 ** (resend - 1), self.max_delay_s)
        return full * (0.5 + chance / 2)


class HttpConnection:
    """Sends requests to one server. What it opens belongs to one event loop of one process."""

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        api_key: str | None = None,
        credentials: Credentials | None = None,
        timeout_s: float = 15.0,
        resends: Resends | None = None,
        timer: Timer | None = None,
        http_transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Describe the connection; nothing is opened yet.

        :param url: of the server; ``/ojs/v1`` is appended unless it is there.
        :param headers: sent with every request.
        :param api_key: sent as ``Authorization: Bearer``; default: ``OJS_API_KEY``, where set.
        :param credentials: another way to authenticate, such as ``SigV4()``.
        :param timeout_s: for each send, in seconds.
        :param http_transport: replaces the network, in tests.
        :raises ValueError: no URL; two ways to authenticate; or a key over plain HTTP to elsewhere.
        """
        self.base = base_url(url)
        self._credentials = chosen_credentials(url, headers, api_key, credentials)
        self._headers = {
            "Accept": CONTENT_TYPE,
            "OJS-Version": "1.0",
            "User-Agent": "ojs-aws",
            **(headers or {}),
        }
        self.timeout_s = timeout_s
        self._resends = resends or Resends()
        self._timer = timer or SystemTimer()
        self._http_transport = http_transport
        self._http: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def exchange(self, request: RouteRequest) -> Answer:
        """Send a request, again where that may help; an error is a part of the answer.

        One that is not repeatable is not sent again if it may have been received.
        """
        sends, ends_at = 1, self._timer.monotonic() + request.within_s
        while True:
            answer = await self._send(request)
            wait_s = self._wait_s(answer, sends)
            if wait_s is None or self._timer.monotonic() + wait_s > ends_at:
                return Answer(answer.status, answer.members, answer.error, sends)
            await self._timer.sleep(wait_s)
            sends += 1

    async def close(self) -> None:
        """Close the connection; a later request opens it again."""
        http, self._http = self._http, None
        if http is not None and self._loop is asyncio.get_running_loop():
            await http.aclose()

    def _wait_s(self, answer: Answer, sends: int) -> float | None:
        """Return the seconds to wait before a resend, or None when there will be none."""
        if answer.error is None or not answer.may_resend or sends > self._resends.limit:
            return None
        asked_s = answer.retry_after_s
        if asked_s is None:
            return self._resends.delay_s(sends, self._timer.chance())
        return asked_s if asked_s <= self._resends.max_retry_after_s else None

    async def _send(self, request: RouteRequest) -> Answer:
        http = self._opened()
        import httpx

        method, body, repeatable = request.route.method, request.text, request.is_repeatable
        headers = {"Content-Type": CONTENT_TYPE} if body is not None else {}
        content = body.encode() if body is not None else None
        url = self.base + request.url_path.removeprefix(BASE_PATH)
        try:
            built = http.build_request(
                method, url, content=content, params=request.given_query, headers=headers
            )
            if self._credentials is not None:
                built.headers.update(
                    await self._credentials.headers_for(
                        method, str(built.url), built.headers, content or b""
                    )
                )
            response = await http.send(built)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as problem:
            return _no_answer(BackendUnavailableError, self.base, problem, may_resend=True)
        except BackendUnavailableError as problem:  # the credentials could not be read
            return Answer(0, error=problem, may_resend=True)
        except httpx.RequestError as problem:
            return _no_answer(BackendError, self.base, problem, may_resend=repeatable)
        return _answer(response, repeatable=repeatable)

    def _opened(self) -> httpx.AsyncClient:
        """Return httpx's client for this event loop, which a forked process does not share."""
        loop = asyncio.get_running_loop()
        if self._http is None or self._loop is not loop:
            try:
                import httpx
            except ImportError as problem:  # pragma: no cover - depends on the installation
                raise ImportError(
                    "HTTP needs httpx, which Lambda functions do not carry: name it in the "
                    "requirements.txt beside your code, or use Client.direct()."
                ) from problem
            self._loop = loop
            self._http = httpx.AsyncClient(
                headers=self._headers,
                timeout=self.timeout_s,
                transport=self._http_transport,
                follow_redirects=False,
            )
        return self._http


def base_url(url: str) -> str:
    """Return the URL below which the operations are found.

    :raises ValueError: no http or https URL.
    """
    try:
        parts = urlsplit(url)
        is_one = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:  # a port that is none, or half of an IPv6 address
        is_one = False
    if not is_one:
        shown, wanted = without_password(url), "https://host[:port][/path]"
        raise ValueError(f"{shown!r} is no URL of an OJS server: expected {wanted}")
    stem = url.split("?", 1)[0].split("#", 1)[0].rstrip("/")
    return stem if stem.endswith(BASE_PATH) else stem + BASE_PATH


def _no_answer(kind: type[BackendError], base: str, why: Exception, *, may_resend: bool) -> Answer:
    error = kind(
        f"No answer from {without_password(base)}: {str(why) or type(why).__name__}.",
        hint="Check the URL and that the server runs.",
    )
    error.__cause__ = why
    return Answer(0, error=error, may_resend=may_resend)


def _answer(response: httpx.Response, *, repeatable: bool) -> Answer:
    """Read an answer; anything but a 2xx with a JSON object is an error."""
    status = response.status_code
    try:
        members = parse_object(response.content, max_depth=MAX_DEPTH)
    except OjsError:
        members = {}
    error = error_in(status, members)
    if error is None and members:
        return Answer(status, members)
    if error is None:
        asked = f"{response.request.method} {response.request.url.path}"
        text, hint = f"The answer to {asked} is no JSON object.", "Check the URL of the server."
        return Answer(status, error=BackendError(text, hint=hint))
    answer = Answer(status, members, error)
    may_help = status in _REFUSED_BEFORE_WORK or (repeatable and status in _PERHAPS_DONE)
    may_help = may_help and object_in(answer.values, "error").get("retryable") is not False
    retry_after_s = _seconds(response.headers.get("Retry-After"))
    return replace(answer, retry_after_s=retry_after_s, may_resend=may_help)


def _seconds(text: str | None) -> float | None:
    """Return ``Retry-After`` in seconds; its form with a date, which OJS lacks, is ignored."""
    try:
        return max(0.0, float(text)) if text else None
    except ValueError:
        return None


MAX_WAIT_S: Final = 10.0

_CREATED: Final = 201


class HttpTransport:
    """Carries requests to a server over HTTP(S)."""

    def __init__(self, connection: HttpConnection) -> None:
        """Use a connection, which :meth:`close` closes; waits stay well below its own timeout."""
        self._connection = connection
        self.max_wait_s = min(MAX_WAIT_S, connection.timeout_s / 2)

    async def ask(self, request: RouteRequest) -> Answer:
        """Send the request, again where that may help."""
        return await self._connection.exchange(request)

    async def push(self, job: Job) -> Stored:
        """Store one job; sent again when the answer was lost: the id makes that harmless."""
        answer = await self.ask(RouteRequest(operation="push", body=job.to_json()))
        if isinstance(answer.error, DuplicateError) and _is_own(answer, job):
            # The first send was stored, and a middleware of the backend made the second one differ.
            return Stored(await self.get(job.id), is_new=False)
        dropped_by = text_in(answer.or_raise().values, "dropped_by")
        if dropped_by:
            return Stored(None, is_new=False, dropped_by=dropped_by)
        return Stored(answer.job, is_new=answer.status == _CREATED)

    async def push_all(self, jobs: Sequence[Job]) -> list[Stored]:
        """Store several jobs as one atomic batch."""
        body = assemble({"jobs": assemble_array(job.to_json() for job in jobs)})
        answer = (await self.ask(RouteRequest(operation="push_batch", body=body))).or_raise()
        by_id = {str(job.get("requested_id") or job.id): job for job in answer.jobs}
        dropped = {
            text_in(each, "id"): text_in(each, "dropped_by")
            for each in objects_in(answer.values, "dropped")
        }
        is_new = answer.status == _CREATED
        return [
            Stored(by_id[job.id], is_new=is_new)
            if job.id in by_id
            else Stored(None, is_new=False, dropped_by=dropped.get(job.id) or "the backend")
            for job in jobs
        ]

    async def get(self, job_id: str) -> Job:
        """Read a job."""
        return (await self.ask(_of_job("info", job_id))).or_raise().job

    async def cancel(self, job_id: str) -> Job:
        """Cancel a job."""
        return (await self.ask(_of_job("cancel", job_id))).or_raise().job

    async def activate(self, job_id: str) -> Job:
        """Make a pending job available."""
        return await ask_to_change(self, _of_job("activate", job_id), "pending")

    async def close(self) -> None:
        """Close the connection."""
        await self._connection.close()


def _of_job(operation: str, job_id: str) -> RouteRequest:
    return RouteRequest(operation=operation, path={"job_id": job_id})


def _is_own(answer: Answer, job: Job) -> bool:
    """Return True if the id was taken by an earlier send of the same request."""
    taken_by = answer.error.details.get("existing_job_id") if answer.error else None
    return answer.sends > 1 and taken_by in {None, job.id}
