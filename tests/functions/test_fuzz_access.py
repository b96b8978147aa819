"""Fuzzing the API with and without credentials: what is refused, and what is never revealed.

Through the real authorizer, with real keys, over the model in memory.
"""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

import pytest
from schemathesis import Case
from schemathesis.core import NOT_SET

from ojs_aws.domain.access import GRANTS, Permission, Scope
from ojs_aws.domain.api_keys import ApiKey
from ojs_aws.services.access.api_keys import Authentication, KeyIssuer
from ojs_aws.testing.deployment import FakeClock
from ojs_aws.transport.authorizer import build_authorizer
from ojs_aws.transport.http.route import scopes_of
from tests.functions.fuzzing import Fuzzed, checked, quiet, route_of, suggested

if TYPE_CHECKING:
    from ojs_aws.adapters.dynamodb.access import ApiKeys

pytestmark = pytest.mark.thorough

CANARY: Final = "canary"
"""Stands in everything of the foreign queue; what a request did not say no answer may have."""

FOREIGN_QUEUE: Final = "canary-queue"
FOREIGN_TYPE: Final = "canary.open"
OWN_QUEUE: Final = "own"


class Keys:
    """The records of keys in a dict."""

    def __init__(self) -> None:
        self.kept: dict[str, ApiKey] = {}

    def load(self, key_id: str) -> ApiKey | None:
        """One key."""
        return self.kept.get(key_id)

    def save(self, key: ApiKey) -> None:
        """Keep a key."""
        self.kept[key.id] = key

    def page(self, after: str, limit: int) -> Sequence[ApiKey]:
        """The next keys."""
        return [self.kept[each] for each in sorted(self.kept) if each > after][:limit]


records, clock = Keys(), FakeClock()
keys = cast("ApiKeys", records)
fuzzed = Fuzzed(build_authorizer(Authentication(keys, clock)), auth="api-key")
issuer = KeyIssuer(keys, clock, random.Random(36).randbytes)


def headers_of(
    *scopes: Scope, queues: Sequence[str] = (), types: Sequence[str] = ()
) -> dict[str, str]:
    """The header with a new key."""
    key = issuer.create("fuzz", scopes, queues=queues, types=types)
    return {"Authorization": f"Bearer {key.text}"}


SCOPED: Final = {scope: headers_of(scope) for scope in Scope}
EVERYBODY: Final = frozenset({Permission.PUBLIC, Permission.KNOWN})


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with quiet():
        yield


@pytest.mark.parametrize("label", fuzzed.labels())
def test_sec_003_without_credentials_only_health_and_manifest_answer(label: str) -> None:
    """Whatever is sent: 401 as an OJS error; so it is with credentials that are none."""
    is_public = route_of(label).is_public
    for case in suggested(fuzzed.named(label), most=4):
        for headers in ({}, {"Authorization": f"Bearer ojs_{'0' * 16}_{'x' * 43}"}):
            answer = checked(case, headers)
            if is_public:
                assert answer.status_code not in {401, 403}
                continue
            error = answer.json()["error"]
            assert (answer.status_code, error["code"]) == (401, "unauthenticated")
            assert answer.headers["www-authenticate"]


@pytest.mark.parametrize("label", fuzzed.labels())
def test_sec_007_each_scope_does_what_it_is_for_and_nothing_else(label: str) -> None:
    """Whatever is sent: 403 as an OJS error outside the scope, an answer but no 5xx inside."""
    access = route_of(label).access
    needed = access.permission
    for case in suggested(fuzzed.named(label), most=4):
        for scope, headers in SCOPED.items():
            answer = checked(case, headers)
            is_allowed = needed in GRANTS[scope] or needed in EVERYBODY
            assert is_allowed is (scope in scopes_of(access))
            if is_allowed:
                assert answer.status_code not in {401, 403}
            else:
                error = answer.json()["error"]
                assert (answer.status_code, error["code"]) == (403, "permission_denied")


# -------------------------------------------------------------------------- bound to a queue


class Foreign:
    """What somebody else has: jobs in several states, a cron job and a workflow."""

    def __init__(self) -> None:
        send = self._send
        envelope = {"type": FOREIGN_TYPE, "args": [f"{CANARY}-args"], "queue": FOREIGN_QUEUE}
        kept = [send("POST /ojs/v1/jobs", envelope)["job"]["id"] for _ in range(6)]
        later = {**envelope, "options": {"delay_until": "2999-01-01T00:00:00Z"}}
        kept.append(send("POST /ojs/v1/jobs", later)["job"]["id"])
        fetch = {"queues": [FOREIGN_QUEUE], "worker_id": f"{CANARY}-worker", "count": 3}
        taken = [job["id"] for job in send("POST /ojs/v1/workers/fetch", fetch)["jobs"]]
        result = {"job_id": taken[0], "result": f"{CANARY}-result"}
        send("POST /ojs/v1/workers/ack", result)
        failure = {"message": f"{CANARY}-message", "code": "x", "retryable": False}
        send("POST /ojs/v1/workers/nack", {"job_id": taken[1], "error": failure})
        send("POST /ojs/v1/cron", {"name": f"{CANARY}-cron", "cron": "0 9 * * *", **envelope})
        flow = {"type": "chain", "name": f"{CANARY}-flow", "steps": [envelope, envelope]}
        self.workflow = str(send("POST /ojs/v1/workflows", flow)["id"])
        beat = {"worker_id": f"{CANARY}-worker", "queues": [FOREIGN_QUEUE], "active_jobs": []}
        send("POST /ojs/v1/workers/heartbeat", beat)
        schema = {"type": FOREIGN_TYPE, "version": 1, "schema": {"type": "array"}}
        send("POST /ojs/v1/schemas", schema)
        limits = fuzzed.world.backend.limits
        limits.override(f"queue:{FOREIGN_QUEUE}", {"concurrency": 50})
        limits.override(f"{CANARY}-limit", {"concurrency": 50})
        self.jobs = kept

    @staticmethod
    def _send(label: str, body: dict[str, Any]) -> Any:
        scope = Scope.WORKER if "/workers/" in label else Scope.ADMIN
        case = fuzzed.named(label).Case(body=body, media_type="application/json")
        answer = case.call(headers=SCOPED[scope])
        assert answer.status_code in {200, 201}, answer.text
        return answer.json()

    def snapshot(self) -> object:
        """All of it, to be compared."""
        world = fuzzed.world
        return (
            {name: job for name, job in world.stored.jobs.items() if job.queue == FOREIGN_QUEUE},
            world.stored.crons.get(f"{CANARY}-cron"),
            world.stored.workflows.get(self.workflow),
            world.registry.load(FOREIGN_QUEUE),
            world.workers.load(f"{CANARY}-worker", world.clock.now()),
        )


@pytest.fixture(scope="session")
def foreign() -> Foreign:
    """The others' things, once in the process, as its one world is."""
    with quiet():
        return Foreign()


def administrator(**bounds: Sequence[str]) -> dict[str, str]:
    """The header with a key that may do everything within its bounds, as a token may."""
    headers = headers_of(Scope.OPERATOR, **bounds)
    key_id = headers["Authorization"].split("_")[1]
    records.kept[key_id] = replace(records.kept[key_id], scopes=frozenset({Scope.ADMIN}))
    return headers


BOUND: Final[Mapping[str, Mapping[str, str]]] = {
    "producer": headers_of(Scope.PRODUCER, queues=[OWN_QUEUE]),
    "worker": headers_of(Scope.WORKER, queues=[OWN_QUEUE]),
    "operator": headers_of(Scope.OPERATOR, Scope.READ_ONLY, queues=[OWN_QUEUE]),
    "operator of a type": headers_of(Scope.OPERATOR, types=["own.*"]),
    "administrator": administrator(queues=[OWN_QUEUE]),
    "administrator of a type": administrator(queues=[OWN_QUEUE], types=["own.*"]),
}


def renamed(value: Any, names: Mapping[str, Any]) -> Any:
    """A body in which members of certain names have certain values."""
    if isinstance(value, dict):
        return {
            name: names[name] if name in names else renamed(each, names)
            for name, each in value.items()
        }
    return [renamed(each, names) for each in value] if isinstance(value, list) else value


def aimed(case: Case[Any], foreign: Foreign, queue: str, chance: random.Random) -> Case[Any]:
    """The request with everything in it that names something naming the others' things."""
    job = chance.choice(foreign.jobs)
    names: dict[str, Any] = {
        "job_id": job,
        "id": job,
        "job_ids": foreign.jobs,
        "ids": foreign.jobs,
        "active_jobs": foreign.jobs,
        "queue": queue,
        "queues": [queue],
        "workflow_id": foreign.workflow,
    }
    path = {name: names.get(name, value) for name, value in (case.path_parameters or {}).items()}
    if "/workflows/" in case.path:
        path = dict.fromkeys(path, foreign.workflow)
    if "/cron/" in case.path:
        path = dict.fromkeys(path, f"{CANARY}-cron")
    if "/admin/workers/" in case.path:
        path = dict.fromkeys(path, f"{CANARY}-worker")
    if "/rate-limits/" in case.path:
        path = dict.fromkeys(path, chance.choice([f"queue:{FOREIGN_QUEUE}", f"{CANARY}-limit"]))
    if "/schemas/" in case.path:
        path |= {name: FOREIGN_TYPE for name in ("name", "type") if name in path}
    has_body = isinstance(case.body, dict | list)
    made: Case[Any] = case.operation.Case(
        path_parameters=path,
        query={**(case.query or {}), "queue": queue},
        headers=case.headers,
        body=renamed(case.body, names) if has_body else case.body or NOT_SET,
        media_type=case.media_type,
    )
    return made


NAMES: Final = (
    FOREIGN_QUEUE,
    FOREIGN_TYPE,
    *(f"{CANARY}-{what}" for what in ("cron", "worker", "limit")),
)


def opened(text: str) -> str:
    """What the cursors of an answer say: base64, some of it within another."""
    found, left = "", re.findall(r'cursor": ?"([\w-]+)"', text)
    while left:
        cursor = left.pop()
        inner = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode(errors="replace")
        found += inner
        left += re.findall(r"[\w-]{16,}", inner)
    return found


def said(case: Case[Any]) -> str:
    """What a request says, wherever it stands."""
    parts = (case.path_parameters, case.query, case.body)
    return json.dumps(parts, default=str, ensure_ascii=False)


@pytest.mark.parametrize("label", fuzzed.labels())
def test_sec_006_bound_keys_learn_and_change_nothing_of_others(
    label: str, foreign: Foreign
) -> None:
    """SEC-006: neither by naming their own queue and foreign jobs, nor by naming the foreign one.

    What the others have carries a word. No answer has it, unless the request itself said it, and
    afterwards everything of theirs is as it was.
    """
    before, chance = foreign.snapshot(), random.Random(label)
    for case in suggested(fuzzed.named(label), most=3):
        for headers in BOUND.values():
            for queue in (OWN_QUEUE, FOREIGN_QUEUE):
                request = aimed(case, foreign, queue, chance)
                answer = checked(request, headers)
                shown = answer.text
                for word in (*NAMES, *foreign.jobs, foreign.workflow):
                    if word in said(request):
                        shown = shown.replace(word, "")
                assert CANARY not in shown, f"{answer.status_code}: {shown[:500]}"
                assert not any(each in opened(shown) for each in (CANARY, *foreign.jobs))
                if answer.status_code < 400:  # it was done, or read: then not of theirs
                    assert not any(job in shown for job in foreign.jobs)
    assert foreign.snapshot() == before
