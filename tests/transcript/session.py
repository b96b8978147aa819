"""A deployment of its own for each feature, and the requests that are sent to it."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from moto.core.base_backend import BackendDict

from ojs_aws.bootstrap import (
    build_authentication,
    build_backend,
    build_key_issuer,
    build_remembered_authentication,
)
from ojs_aws.config import Settings
from ojs_aws.domain.access import Scope
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.local.aws import create_bucket, create_queues, create_table
from ojs_aws.local.lambdas import LambdaContext, http_answer, http_event
from ojs_aws.services.access.api_keys import KeyIssuer
from ojs_aws.services.backend import Backend
from ojs_aws.testing.deployment import CountingIds, FakeClock, counting
from ojs_aws.transport.authorizer import authorizing_events, build_authorizer
from ojs_aws.transport.http.resolver import build_resolver
from ojs_aws.transport.http.route import Route
from ojs_aws.transport.http.routes import (
    JOB_ENDPOINT,
    Group,
    canonical_path,
    find,
    group_of,
    pattern_of,
)
from tests.aws import EmbeddedAws, embedded, in_memory
from tests.transcript.placeholders import Placeholders, at_place
from tests.transcript.steps import OJS, Feature, Key, Step
from tests.upgrade.scenario import Following

UNKNOWN: Final = f"Bearer ojs_{'0' * 16}_{'x' * 43}"
"""A key that nobody was given."""


@dataclass(frozen=True)
class Exchange:
    """A request and its answer as they are recorded: with names for what varies.

    :ivar request: headers that were sent, by name.
    :ivar body: of the request.
    :ivar answer: headers and body as one text.
    """

    step: Step
    path: str
    headers: dict[str, str]
    body: str
    status: int
    answer_headers: dict[str, str]
    answer_body: str


class Session:
    """The functions of one deployment, with a clock and ids of its own."""

    def __init__(
        self, aws: EmbeddedAws, feature: Feature, *, uses_job_endpoint: bool = False
    ) -> None:
        """Deploy, and make the feature's keys.

        :param uses_job_endpoint: what the job endpoint serves is sent there, not to the gateway.
        """
        self.aws = aws = fresh(aws, feature.settings)
        self.clock = FakeClock()
        self.placeholders = Placeholders()
        self.backend = _backend(aws, self.clock)
        self._handlers = {group: build_resolver(self.backend, group) for group in Group}
        self._follow = Following(aws, self.backend)
        dynamodb = aws.clients.dynamodb
        keys = build_key_issuer(aws.settings, dynamodb, self.clock)
        keys = replace(keys, random_bytes=random.Random(36).randbytes)
        self._keys = {name: _text_of(keys, name, key) for name, key in feature.keys.items()}
        self._keys |= {"unknown": UNKNOWN, "malformed": "Bearer nonsense"}
        authentication = build_authentication(aws.settings, dynamodb, self.clock)
        self._authorize = build_authorizer(authentication) if feature.keys else None
        self._endpoint = None
        if uses_job_endpoint:
            known = build_remembered_authentication(aws.settings, dynamodb, self.clock)
            authorize = authorizing_events(build_authorizer(known)) if feature.keys else None
            self._endpoint = build_resolver(self.backend, *JOB_ENDPOINT, authorize=authorize)

    def send(self, step: Step, alias: int = 0) -> Exchange:
        """Send a request.

        :param alias: which of the route's paths is used: 0 is its own.
        """
        self.clock.advance(s=step.wait_s)
        if step.tick:
            self.backend.upkeep.sweep.tick()
            self._follow()
        path = by_alias(step.method, step.path, alias)
        headers = {name.lower(): value for name, value in step.headers.items()}
        content = _content(step.body)
        if content:
            headers = {"content-type": OJS} | headers
        sent = {name: self.placeholders.values(value) for name, value in headers.items()}
        body = content if isinstance(content, bytes) else self.placeholders.values(content).encode()
        plain, _, query = self.placeholders.values(path).partition("?")
        if step.key:
            sent["authorization"] = self._keys[step.key]
        event = http_event(step.method, plain, query, sent, body)
        group = group_of(step.method, plain)
        if self._endpoint is not None and group in JOB_ENDPOINT:
            handler = self._endpoint
        else:
            handler = self._handlers[group]
            if self._authorize is not None:
                verdict = self._authorize(event, None)
                event["requestContext"]["authorizer"] = {"lambda": verdict["context"]}
        found = http_answer(handler(event, LambdaContext("test", 29.0)))
        self._follow()
        text = found.body.decode()
        for name, place in step.save.items():
            try:
                self.placeholders.saved[name] = str(at_place(json.loads(text), place))
            except LookupError:
                raise ValueError(f"{step.name!r} has no {place}: {text[:500]}") from None
        return Exchange(
            step=step,
            path=path,
            headers=headers,
            body=repr(content)[:200] if isinstance(content, bytes) else content,
            status=found.status,
            answer_headers={name: self._named(value) for name, value in found.headers.items()},
            answer_body=self._named(text),
        )

    def _named(self, text: str) -> str:
        return self.placeholders.names(text, self.clock.at)


def by_alias(method: str, path: str, alias: int) -> str:
    """Return the path of a request in another form of its route; the same where there is none."""
    plain, mark, query = path.partition("?")
    route = find(method, plain)
    if not alias or route is None or alias > len(route.aliases):
        return path
    match = pattern_of(route.path).fullmatch(canonical_path(plain))
    if match is None:  # it is an alias already
        return path
    other = route.aliases[alias - 1]
    for name, value in match.groupdict().items():
        other = other.replace(f"<{name}>", value)
    return other + mark + query


def aliases_of(step: Step) -> int:
    """Count the other paths of a step's route."""
    route: Route | None = find(step.method, step.path.partition("?")[0])
    return len(route.aliases) if route else 0


def _backend(aws: EmbeddedAws, clock: FakeClock) -> Backend:
    """The services over an embedded AWS; whoever waits moves the clock."""
    backend = build_backend(
        aws.settings, aws.clients, clock=clock, ids=CountingIds(), parallel=IN_ORDER
    )
    object.__setattr__(backend.stores, "new_reservation_id", counting("reservation"))
    object.__setattr__(backend.stores, "pause", lambda seconds: clock.advance(s=seconds))
    return backend


def _text_of(keys: KeyIssuer, name: str, key: Key) -> str:
    scopes = [Scope(scope) for scope in key.scopes]
    made = keys.create(name, scopes, queues=key.queues, types=key.types)
    return f"Bearer {made.text}"


def _content(body: object) -> str | bytes:
    if body is None:
        return ""
    return (
        body
        if isinstance(body, str | bytes)
        else json.dumps(body, separators=(",", ":"), ensure_ascii=False)
    )


@contextmanager
def emulated_aws() -> Iterator[EmbeddedAws]:
    """An embedded AWS for many features, one after the other: its clients are costly to make."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with embedded() as aws:
            yield aws
    finally:
        logging.disable(before)


def fresh(aws: EmbeddedAws, settings: Settings) -> EmbeddedAws:
    """Return a new deployment; on moto its clients are those of the one before, which goes."""
    if aws.memory is not None:
        return in_memory(settings)
    BackendDict.reset()
    create_table(aws.clients.dynamodb, settings.table)
    prefix = create_queues(aws.clients.sqs, settings)
    create_bucket(aws.clients.s3(), "documents")
    return replace(aws, settings=replace(settings, queue_url_prefix=prefix, bucket="documents"))
