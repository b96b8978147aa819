"""Describes what an assertion about a deployment is, and what it sees of that deployment."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import httpx

    from ojs_aws.adapters.evidence import Evidence
    from ojs_aws.cli.deployment.doctor import Finding
    from ojs_aws.cli.verify.deployments import Deployments
    from ojs_aws.cli.verify.scales import Loaded, Scale

MEDIA_TYPE: Final = "application/openjobspec+json"
OK: Final = 200
CREATED: Final = 201
WORKER: Final = "WorkerFunction"
"""What the template calls the Lambda worker."""
_HASH: Final = 8
"""Characters at the end of a logical id that the CDK makes."""

Signer = Callable[[str, str, Mapping[str, str], bytes], Mapping[str, str]]
"""Gives the headers of a signature for a method, a URL, headers and a body."""


Look = Callable[["Site"], str]
"""Looks at a deployment, and returns what it saw."""


class Outcome(StrEnum):
    """Says how an assertion ended."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


class NotSoError(Exception):
    """Raised by an assertion that does not hold, with what was seen."""


class SkippedError(Exception):
    """Raised by an assertion that this scale cannot check, with the reason."""


def demand(is_so: object, seen: str) -> None:
    """Fail the assertion unless something is so.

    :raises NotSoError: with what was seen.
    """
    if not is_so:
        raise NotSoError(seen)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertion:
    """Names something that must be true of a deployment.

    :ivar name: what the report calls it.
    :ivar section: the part of the report.
    :ivar proves: what is true if it passes.
    :ivar needs: the actions of AWS that it takes, beside those of a deployment.
    :ivar run: looks, and returns what it saw.
    :ivar not_emulated: why an emulator cannot show it; it is skipped there. Empty: it can.
    """

    name: str
    section: str
    proves: str
    run: Look
    needs: Sequence[str] = ()
    not_emulated: str = ""


def asserts(
    into: list[Assertion],
    section: str,
    name: str,
    proves: str,
    *,
    needs: Sequence[str] = (),
    not_emulated: str = "",
) -> Callable[[Look], Look]:
    """Return a decorator that adds an assertion to a list; the function looks."""

    def add(run: Look) -> Look:
        into.append(
            Assertion(
                name=name,
                section=section,
                proves=proves,
                run=run,
                needs=needs,
                not_emulated=not_emulated,
            )
        )
        return run

    return add


@dataclass(frozen=True, slots=True)
class Response:
    """Holds what a server answered; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        """Return the body, decoded; an empty object for what is no JSON."""
        try:
            return json.loads(self.text)
        except ValueError:
            return {}

    @property
    def code(self) -> str:
        """Return the code of an OJS error; empty, where this is none."""
        error = self.json.get("error") if isinstance(self.json, dict) else None
        return str(error.get("code", "")) if isinstance(error, dict) else ""

    def __str__(self) -> str:
        """Return status and the beginning of the body."""
        return f"{self.status} {self.text[:200]}"


@dataclass(frozen=True, slots=True)
class Door:
    """Sends requests to one of a deployment's URLs.

    :ivar name: what the report calls it.
    :ivar url: without ``/ojs/v1``.
    :ivar key: the API key that is sent; never part of this object's own text.
    :ivar sign: signs requests in the place of a key.
    """

    name: str
    url: str
    http: httpx.Client = field(repr=False)
    key: str = field(default="", repr=False)
    sign: Signer | None = field(default=None, repr=False)

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Send a request and return the answer, errors included.

        :param path: below ``/ojs/v1/``, as it is sent.
        :param body: bytes as they are; all else as JSON.
        """
        content = b"" if body is None else body
        if not isinstance(content, bytes):
            content = json.dumps(content).encode()
        url = f"{self.url.rstrip('/')}/ojs/v1/{path}"
        given = {"Content-Type": MEDIA_TYPE, **(headers or {})}
        if self.key:
            given = {"Authorization": f"Bearer {self.key}", **given}
        request = self.http.build_request(method, url, content=content, headers=given)
        if self.sign is not None:
            text = str(request.url)
            request.headers.update(self.sign(method, text, dict(request.headers), content))
        answer = self.http.send(request)
        named = {name.lower(): value for name, value in answer.headers.items()}
        return Response(answer.status_code, named, answer.text)

    def push(self, queue: str, **members: object) -> dict[str, Any]:
        """Enqueue a job and return it as it was answered."""
        job = {"type": "verify.job", "args": [], "options": {"queue": queue}, **members}
        answer = self.ask("POST", "jobs", job)
        demand(answer.status == CREATED, f"a push to {self.name} was answered with {answer}")
        pushed: dict[str, Any] = answer.json["job"]
        return pushed

    def fetch(self, queue: str, worker: str = "verify", **members: object) -> list[dict[str, Any]]:
        """Claim jobs of a queue."""
        answer = self.ask(
            "POST", "workers/fetch", {"queues": [queue], "worker_id": worker, **members}
        )
        demand(answer.status == OK, f"a fetch from {self.name} was answered with {answer}")
        found: list[dict[str, Any]] = answer.json["jobs"]
        return found

    def job(self, job_id: str) -> dict[str, Any]:
        """Return a job."""
        answer = self.ask("GET", f"jobs/{job_id}")
        demand(answer.status == OK, f"a job was answered with {answer}")
        found: dict[str, Any] = answer.json["job"]
        return found


@dataclass(frozen=True, slots=True)
class Keys:
    """Makes and revokes API keys in the deployment's table.

    :ivar create: returns id and text of a new key with a name and scopes.
    :ivar revoke: ends the key of an id.
    """

    create: Callable[[str, Sequence[str]], tuple[str, str]]
    revoke: Callable[[str], None]


@dataclass(slots=True, kw_only=True)
class Site:
    """Holds the deployment that is verified, as far as the run has come.

    :ivar id: of the run; part of all names that it makes.
    :ivar outputs: of the stack; empty before the deployment.
    :ivar resources: kind and name of the stack's resources by their logical ids.
    :ivar open_door: opens a door by its name and URL, with an API key; with IAM where it is None.
    :ivar doctor: runs the checks of ``ojs-aws doctor --probe``.
    :ivar load: carries out the load, and returns what became of it.
    :ivar clock: returns seconds since 1970.
    :ivar loaded: what the load did, once it has run.
    """

    id: str
    scale: Scale
    is_emulated: bool
    evidence: Evidence
    deployments: Deployments
    open_door: Callable[[str, str, str | None], Door]
    keys: Callable[[str], Keys]
    doctor: Callable[[Door], Sequence[Finding]]
    load: Callable[[Site], Loaded]
    sleep: Callable[[float], None]
    clock: Callable[[], float]
    outputs: Mapping[str, str] = field(default_factory=dict)
    resources: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    doors: Sequence[Door] = ()
    loaded: Loaded | None = None

    @property
    def gateway(self) -> Door:
        """Return the door of API Gateway."""
        return self.doors[0]

    def of_kind(self, kind: str) -> dict[str, str]:
        """Return the names of the stack's resources of a type, by their logical ids."""
        return {
            logical: name
            for logical, (each, name) in self.resources.items()
            if each == f"AWS::{kind}"
        }

    def function(self, part: str) -> str:
        """Return the name of a function, such as ``Tick`` of the backend, or ``WorkerFunction``.

        :raises NotSoError: the stack has none.
        """
        for logical, name in self.of_kind("Lambda::Function").items():
            if logical[:-_HASH] in {f"Backend{part}", part}:
                return name
        raise NotSoError(f"the stack has no function {part}")

    def eventually(self, look: Callable[[], Any], within_s: float, what: str) -> Any:
        """Look until there is something true to see, and return it.

        :raises NotSoError: it did not come in time.
        """
        end = self.clock() + within_s
        while not (seen := look()):
            demand(self.clock() < end, f"not within {within_s:.0f} s: {what}")
            self.sleep(0.5)
        return seen

    def queue(self, name: str) -> str:
        """Return the name of a queue that this run alone uses."""
        return f"{name}-{self.id}"
