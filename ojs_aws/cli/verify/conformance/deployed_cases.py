"""Asserts at each URL what the specification says, by the conformance cases of levels 0 to 4."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import httpx

from ojs_aws.cli.verify.conformance.cases import METHODS, Case, Step, load_cases
from ojs_aws.cli.verify.conformance.runner import CaseOutcome, ConformanceRunner
from ojs_aws.cli.verify.site import Assertion, Site, demand
from ojs_aws.transport.http.routes import JOB_ENDPOINT, find, methods_of

if TYPE_CHECKING:
    from ojs_aws.cli.verify.site import Signer

_SHIPPED: Final = Path(__file__).with_name("cases")
"""In a wheel the cases are data beside this module."""
_CHECKOUT: Final = Path(__file__).parents[4] / "tests" / "conformance" / "cases"
SHOWN: Final = 3
"""Cases that a failed assertion names."""


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
