"""Runs conformance cases against a server over HTTP and says what was not as asserted.

The verdicts follow the public DSL. Where its reference runner passes by accident this one is
stricter: a ``body`` assertion fails on an answer without a JSON object, header ``$exists`` is
checked, ASSERT steps are evaluated and ``raw_body`` is sent.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import httpx

from ojs_aws.cli.verify.conformance.cases import (
    METHODS,
    Case,
    Step,
    load_cases,
    map_text,
    placeholders,
)
from ojs_aws.cli.verify.conformance.step_checks import (
    Answers,
    CaseAnswer,
    check,
    check_across,
    fill_references,
)
from ojs_aws.cli.verify.site import Assertion, Site, demand
from ojs_aws.transport.http.routes import JOB_ENDPOINT, find, methods_of

if TYPE_CHECKING:
    from ojs_aws.cli.verify.site import Signer


MEDIA_TYPE: Final = "application/openjobspec+json"
_EXCERPT: Final = 300
USER_AGENT: Final = "ojs-conformance/1.0"  # httpx's own name would be taken for the Python SDK
_SHIPPED: Final = Path(__file__).with_name("cases")
"""In a wheel the cases are data beside this module."""
_CHECKOUT: Final = Path(__file__).parents[4] / "tests" / "conformance" / "cases"
SHOWN: Final = 3
"""Cases that a failed assertion names."""


class CaseOutcome(StrEnum):
    """Says how a case ended."""

    PASSED = "passed"
    FAILED = "failed"
    UNJUDGEABLE = "unjudgeable"


@dataclass(frozen=True)
class CaseVerdict:
    """Holds what came of a case.

    :ivar findings: one line per unmet assertion, or the reason why the case cannot be judged.
    :ivar seconds: how long it took.
    """

    case: Case
    outcome: CaseOutcome
    findings: tuple[str, ...]
    seconds: float


class ConformanceRunner:
    """Runs cases against one server; may be shared between threads.

    :param base_url: the server, without ``/ojs/v1``.
    :param client: sends the requests.
    :param run: name of this run, which keeps its queues apart from those of other runs.
    :param auth: adds credentials to each request.
    :param reset_url: POSTed before each case when given; then cases must not overlap.
    """

    def __init__(
        self,
        base_url: str,
        client: httpx.Client,
        *,
        run: str,
        reset_url: str = "",
        auth: httpx.Auth | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Keep what every case needs."""
        self._base_url = base_url.rstrip("/")
        self._client = client
        self._run = run
        self._reset_url = reset_url
        self._auth = auth
        self._sleep = sleep

    def run_case(self, case: Case) -> CaseVerdict:
        """Run one case to its end: an unmet assertion does not stop the later steps."""
        if case.unjudgeable:
            return CaseVerdict(case, CaseOutcome.UNJUDGEABLE, (case.unjudgeable,), 0.0)
        started = time.monotonic()
        if self._reset_url:
            self._client.post(self._reset_url).raise_for_status()
        findings = tuple(self._run_steps(case))
        outcome = CaseOutcome.FAILED if findings else CaseOutcome.PASSED
        return CaseVerdict(case, outcome, findings, time.monotonic() - started)

    def _run_steps(self, case: Case) -> Iterator[str]:
        fill = placeholders(case, self._run)
        answers: Answers = {}
        for group in grouped(case.setup + case.steps):
            with ThreadPoolExecutor(len(group)) as pool:
                futures = [pool.submit(self._perform, step, answers, fill) for step in group]
            for step, future in zip(group, futures, strict=True):
                answers[step.id], findings = future.result()
                yield from findings
        for step in case.teardown:
            answers[step.id], _ = self._perform(step, answers, fill)

    def _perform(
        self, step: Step, answers: Answers, fill: Callable[[str], str]
    ) -> tuple[CaseAnswer, list[str]]:
        self._sleep(step.pause_ms / 1000)
        if step.action == "WAIT":
            return CaseAnswer(), []

        def filled(text: str) -> str:
            return fill_references(fill(text), answers)

        if step.action == "ASSERT":
            findings = check_across(step.assertions, answers)
            return CaseAnswer(), [f"{step.id}: {finding}" for finding in findings]
        answer = self._send(step, filled)
        assertions = map_text(dict(step.assertions), filled)
        findings = check(assertions if isinstance(assertions, dict) else {}, answer)
        shown = f" [{step.action} {filled(step.path)} -> {answer.status} {answer.text[:_EXCERPT]}]"
        return answer, [f"{step.id}: {finding}{shown}" for finding in findings]

    def _send(self, step: Step, filled: Callable[[str], str]) -> CaseAnswer:
        headers = {"User-Agent": USER_AGENT}
        headers |= {name: filled(value) for name, value in step.headers.items()}
        content = None
        if step.raw_body is not None:
            content = filled(step.raw_body).encode()
        elif step.has_body:
            content = json.dumps(map_text(step.body, filled), ensure_ascii=False).encode()
        if content is not None and "content-type" not in {name.lower() for name in headers}:
            headers["Content-Type"] = MEDIA_TYPE
        try:
            started = time.monotonic()
            response = self._client.request(
                step.action,
                self._base_url + filled(step.path),
                headers=headers,
                content=content,
                auth=self._auth,
                follow_redirects=True,
            )
        except (httpx.HTTPError, httpx.InvalidURL) as problem:
            return CaseAnswer(problem=f"no answer: {problem!r}")
        elapsed_ms = (time.monotonic() - started) * 1000
        return _read(response, elapsed_ms)


def open_client(timeout_s: float = 30.0, *, trust_env: bool = False) -> httpx.Client:
    """Return a client for a runner: own User-Agent, no proxies, generous time limit (seconds).

    :param trust_env: take certificates to trust, and proxies, from the environment.
    """
    return httpx.Client(
        timeout=timeout_s,
        headers={"User-Agent": USER_AGENT},
        follow_redirects=True,
        trust_env=trust_env,
        limits=httpx.Limits(max_connections=None),
    )


def _read(response: httpx.Response, elapsed_ms: float) -> CaseAnswer:
    text = response.content.decode("utf-8", "replace")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    headers = {name.lower(): value for name, value in response.headers.items()}
    return CaseAnswer(
        response.status_code, headers, text, body if isinstance(body, dict) else None, elapsed_ms
    )


def grouped(steps: Sequence[Step]) -> list[list[Step]]:
    """Return the steps in order; those tied by ``parallel_with`` are one group."""
    groups: list[list[Step]] = []
    for step in steps:
        last = groups[-1] if groups else []
        tied = any(
            step.parallel_with == other.id or other.parallel_with == step.id for other in last
        )
        if tied:
            last.append(step)
        else:
            groups.append([step])
    return groups


def cases_of_a_deployment() -> list[Case]:
    """Return the cases that a deployment can show.

    Left out are those that need a server in test mode, and those that wait: they expect what is
    due within a second, and the sweep of a deployment comes once a minute.
    """
    found = load_cases(_SHIPPED if _SHIPPED.is_dir() else _CHECKOUT)
    return [case for case in found if not case.time_dependent and not case.test_mode]


def is_at_the_job_endpoint(case: Case) -> bool:
    """Return whether the job endpoint serves all requests of a case."""

    def is_served(step: Step) -> bool:
        path = step.path.partition("?")[0]
        route = find(step.action, path)
        return route.group in JOB_ENDPOINT if route else not methods_of(path)

    steps = (*case.setup, *case.steps, *case.teardown)
    return all(is_served(step) for step in steps if step.action in METHODS)


class DoorAuth(httpx.Auth):
    """Sends requests with the credentials of a door."""

    requires_request_body = True

    def __init__(self, key: str, sign: Signer | None) -> None:
        """Take a key, or what signs."""
        self._key, self._sign = key, sign

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        """Add a key or a signature."""
        if self._key:
            request.headers["Authorization"] = f"Bearer {self._key}"
        if self._sign is not None:
            headers, body = dict(request.headers), request.content
            request.headers.update(self._sign(request.method, str(request.url), headers, body))
        yield request


def conforms(site: Site, number: int) -> str:
    """Run the cases at one of the site's URLs, some at a time: each has queues of its own."""
    door = site.doors[number]
    way = "iam" if door.sign else "key"
    runner = ConformanceRunner(
        door.url,
        door.http,
        run=f"{site.id}-{way}-{number}",
        auth=DoorAuth(door.key, door.sign),
        sleep=site.sleep,
    )
    cases = cases_of_a_deployment()
    if door is not site.gateway:
        cases = [*filter(is_at_the_job_endpoint, cases)]
    cases = cases[:: site.scale.every_case]
    with ThreadPoolExecutor(site.scale.workers) as pool:
        failed = [
            it for it in pool.map(runner.run_case, cases) if it.outcome is not CaseOutcome.PASSED
        ]
    texts = [f"{each.case.file}: {each.findings[0]}" for each in failed[:SHOWN]]
    demand(not failed, f"{len(failed)} of {len(cases)} cases failed. {'; '.join(texts)}")
    return f"{len(cases)} cases"


CONFORMANCE: Final = tuple(
    Assertion(
        name=f"conformance with API keys, {name}",
        section="conformance",
        proves=f"requests with a key to the {name} are answered as the specification says",
        run=partial(conforms, number=at),
    )
    for at, name in enumerate(("API Gateway", "job endpoint"))
)
