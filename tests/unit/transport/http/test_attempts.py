"""Reports by the token of an attempt, over HTTP: what it opens, and what it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.config import Settings
from ojs_aws.domain.access import ANYBODY, Caller
from ojs_aws.domain.jobs.attempt_tokens import REPORTS, AttemptGrant, token_text
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.access.api_keys import AttemptAuthentication, Verdict
from ojs_aws.transport.http.callers import verdict_context
from ojs_aws.transport.http.routes import ROUTES, Route
from tests.api import Api, Reply
from tests.simulation.world import World
from tests.unit.transport.http.jobs.test_worker_handlers import FAILURE, fetched, pushed
from tests.unit.transport.http.test_authorization import path_of

KEY = "whsec_test"
RETRY = {"max_attempts": 9, "initial_interval": "PT1S", "jitter": False}
REPORTING: dict[str, tuple[str, str, dict[str, Any]]] = {
    "ack": ("POST", "/workers/ack", {"job_id": True, "result": {"ok": True}}),
    "ack_job": ("POST", "/jobs/{id}/ack", {"result": {"ok": True}}),
    "fail": ("POST", "/workers/nack", {"job_id": True, "error": FAILURE}),
    "fail_job": ("POST", "/jobs/{id}/nack", {"error": FAILURE}),
    "heartbeat": ("POST", "/workers/heartbeat", {"job_id": True}),
    "report_progress": ("PUT", "/jobs/{id}/progress", {"progress": 0.5}),
    "post_progress": ("POST", "/jobs/{id}/progress", {"progress": 0.5}),
    "report_progress_of": ("POST", "/workers/progress", {"job_id": True, "percentage": 50}),
    "info": ("GET", "/jobs/{id}", {}),
    "save_checkpoint": ("POST", "/jobs/{id}/checkpoint", {"state": 1}),
}
"""A report by each operation; True stands for the job's id."""


def as_caller(caller: Caller) -> dict[str, Any]:
    """What the gateway says of a caller."""
    return {"lambda": verdict_context(Verdict(caller))}


class Held:
    """A job that a worker has claimed, and requests with a token for it.

    :ivar has_keys: whether the deployment asks for credentials.
    """

    def __init__(self, *, has_keys: bool = True, limit: Any = None, **claimed: Any) -> None:
        self.world = World(settings=Settings(auth="api-key" if has_keys else "none"))
        self.api = Api(self.world.backend)
        self.has_keys, self.claimed = has_keys, claimed
        self.authentication = AttemptAuthentication(_not_asked, lambda: [KEY], self.world.clock)
        with self.as_anybody():
            limits = {} if limit is None else {"rate_limit": limit}
            self.job_id = pushed(self.api, retry=RETRY, timeout=600, **limits)
        self.grant = self.claim()

    @contextmanager
    def as_anybody(self) -> Iterator[None]:
        """Send requests as a caller who may do everything."""
        self.api.authorizer = as_caller(ANYBODY)
        yield
        self.api.authorizer = {}

    def claim(self) -> AttemptGrant:
        """Claim the job, and return what its token says."""
        with self.as_anybody():
            (job,) = fetched(self.api, **self.claimed)
        return AttemptGrant(
            job_id=job["id"],
            attempt=job["attempt"],
            reservation_id=job["reservation_id"],
            ends_at=Instant(self.world.clock.now() + 600_000),
        )

    def claim_again(self) -> AttemptGrant:
        """End the attempt, as who delivered it does after its timeout; claim the job once more."""
        with self.as_anybody():
            self.api.post("/workers/nack", {"job_id": self.job_id, "error": FAILURE})
        self.world.clock.advance(s=5)
        return self.claim()

    def begin_again(self) -> AttemptGrant:
        """Discard the job, let an operator retry it, and claim it: its attempts begin at 1."""
        final = {"job_id": self.job_id, "error": {**FAILURE, "retryable": False}}
        with self.as_anybody():
            self.api.post("/workers/nack", final)
            assert self.api.post(f"/dead-letter/{self.job_id}/retry").status == 200
        return self.claim()

    def send(self, grant: AttemptGrant, method: str, path: str, body: object = None) -> Reply:
        """Send a request with a token."""
        header = f"Bearer {token_text(grant, KEY)}"
        self.api.authorizer = {}
        if self.has_keys:
            self.api.authorizer = {"lambda": verdict_context(self.authentication(header))}
        return self.api.send(method, path, body, headers={"authorization": header})

    def report(self, operation: str, grant: AttemptGrant, job_id: str = "", **more: Any) -> Reply:
        """Report on a job, by default on the token's own."""
        method, path, given = REPORTING[operation]
        job_id = job_id or grant.job_id
        body = {name: job_id if value is True else value for name, value in given.items()}
        return self.send(grant, method, "/ojs/v1" + path.replace("{id}", job_id), body | more)

    @property
    def record(self) -> Any:
        """The job as it is stored."""
        return self.world.stored.jobs[self.job_id]


def _not_asked(header: str) -> Verdict:
    raise AssertionError(f"somebody looks for the API key of {header}")


BOTH = pytest.mark.parametrize("has_keys", [True, False], ids=["with keys", "open"])


def test_reports_are_operations_that_exist() -> None:
    """And each of them is tried here."""
    assert {route.operation for route in ROUTES} >= REPORTS
    assert REPORTING.keys() == REPORTS


@BOTH
@pytest.mark.parametrize("operation", sorted(REPORTS))
def test_a_token_reports_on_its_attempt(operation: str, *, has_keys: bool) -> None:
    """Whatever worker the body names: the endpoint knows none."""
    held = Held(has_keys=has_keys)
    before = held.record
    reply = held.report(operation, held.grant, worker_id="push_worker_1")
    assert reply.status == 200, reply.text
    assert held.record.version == before.version + 1 or operation in {"heartbeat", "info"}


@BOTH
@pytest.mark.parametrize("operation", ["ack", "ack_job", "fail", "fail_job"])
def test_a_report_wakes_those_that_wait_for_a_slot(operation: str, *, has_keys: bool) -> None:
    """That of a token alone: a worker that polls finds them without a message."""

    def sent(*, by_token: bool) -> int:
        held = Held(has_keys=has_keys, limit={"key": "smtp", "concurrency": 1})
        held.world.faults.calls.clear()
        if by_token:
            assert held.report(operation, held.grant).status == 200
        else:
            method, path, given = REPORTING[operation]
            body = {name: held.job_id if it is True else it for name, it in given.items()}
            with held.as_anybody():
                url = "/ojs/v1" + path.replace("{id}", held.job_id)
                assert held.api.send(method, url, body).status == 200
        return held.world.faults.calls.count("send")

    assert sent(by_token=True) == sent(by_token=False) + 1


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
def test_a_token_opens_no_other_operation(route: Route) -> None:
    """By any path of it, 403, and nothing is looked up."""
    if route.operation in REPORTS:
        return
    held = SHUT
    for position in range(len(route.paths)):
        reply = held.send(held.grant, route.method, path_of(route, position))
        if route.is_public:
            continue
        assert reply.status == 403
        assert reply.error["code"] == "permission_denied"
        assert reply.error["details"] == {"operation": route.operation}


SHUT = Held()


@BOTH
@pytest.mark.parametrize("operation", sorted(REPORTS))
def test_a_token_reports_on_no_other_job(operation: str, *, has_keys: bool) -> None:
    """Although a worker holds that one, too."""
    held = Held(has_keys=has_keys)
    with held.as_anybody():
        other = pushed(held.api)
        fetched(held.api)
    before = held.world.stored.jobs[other]
    reply = held.report(operation, held.grant, other)
    assert (reply.status, reply.error["details"]["job_id"]) == (403, other)
    assert held.world.stored.jobs[other] == before


@BOTH
@pytest.mark.parametrize("operation", sorted(REPORTS))
def test_8_2_a_late_report_changes_nothing(operation: str, *, has_keys: bool) -> None:
    """Another delivery has the job: 409, or ignored as PRG-007 and BEAT have it."""
    held = Held(has_keys=has_keys)
    held.claim_again()
    check_ignored(held, operation)


@pytest.mark.parametrize("operation", sorted(REPORTS))
def test_8_2_a_late_report_changes_no_attempt_of_the_same_number(operation: str) -> None:
    """After an operator's retry: the reservation tells them apart."""
    held = Held()
    assert held.begin_again().attempt == held.grant.attempt
    check_ignored(held, operation)


def check_ignored(held: Held, operation: str) -> None:
    """Report by the first token, which changes nothing."""
    before = held.record
    assert before.state == "active"
    reply = held.report(operation, held.grant)
    if "progress" in operation:
        assert (reply.status, reply.json["accepted"]) == (200, False)
    elif operation == "heartbeat":
        assert (reply.status, reply.json["jobs_lost"]) == (200, [held.job_id])
    else:
        assert reply.status == 409
    assert held.record == before


@BOTH
@pytest.mark.parametrize("operation", sorted(REPORTS - {"info"}))
def test_a_token_of_before_names_no_later_attempt(operation: str, *, has_keys: bool) -> None:
    """What the body says is held against the token: 403."""
    held = Held(has_keys=has_keys)
    late, now = held.grant, held.claim_again()
    before = held.record
    named: dict[str, Any]
    for named in ({"reservation_id": now.reservation_id}, {"attempt": now.attempt}):
        assert held.report(operation, late, **named).status == 403
    assert held.record == before


def test_8_2_a_report_after_the_outcome_changes_nothing() -> None:
    """The first one counts."""
    held = Held()
    assert held.report("ack", held.grant).status == 200
    before = held.record
    assert held.report("fail", held.grant).status == 409
    assert held.record == before


def test_8_2_a_report_counts_while_its_delivery_holds_the_job() -> None:
    """Also where its worker has given the delivery up, but not reported."""
    held = Held(visibility_timeout_ms=300_000)
    held.world.clock.advance(s=299)
    assert held.report("ack_job", held.grant).status == 200
    assert held.record.state == "completed"


@BOTH
def test_a_token_ends_with_the_attempts_time(*, has_keys: bool) -> None:
    """401, with what to do."""
    held = Held(has_keys=has_keys)
    lasts = replace(held.grant, ends_at=Instant(held.world.clock.now() + 1))
    assert held.report("heartbeat", lasts).status == 200
    ended = replace(held.grant, ends_at=held.world.clock.now())
    reply = held.report("heartbeat", ended)
    assert reply.status == 401
    assert reply.error["code"] == "token_expired"
    assert reply.error["message"] == "The token has expired."
    assert "Drop the report" in reply.error["hint"]


def test_a_token_that_the_gateway_remembers_ends_in_time() -> None:
    """The function looks at the clock once more."""
    held = Held()
    verdict = held.authentication(f"Bearer {token_text(held.grant, KEY)}")
    held.world.clock.advance(s=600)
    held.api.authorizer = {"lambda": verdict_context(verdict)}
    reply = held.api.post("/workers/heartbeat", {})
    assert (reply.status, reply.error["message"]) == (401, "The token has expired.")


@pytest.mark.parametrize(
    "change",
    [
        lambda token: token[:-1] + ("0" if token[-1] != "0" else "1"),
        lambda token: token + "0",
        lambda token: token.replace(".1.", ".2."),
    ],
)
def test_a_forged_token_is_answered_as_a_wrong_key_is(change: Callable[[str], str]) -> None:
    """401, by the same text; the log names the job, not the token."""
    held = Held()
    verdict = held.authentication("Bearer " + change(token_text(held.grant, KEY)))
    assert verdict.caller is None
    assert verdict.key_id in {"", held.grant.caller.id}
    held.api.authorizer = {"lambda": verdict_context(verdict)}
    reply = held.api.post("/workers/ack", {"job_id": held.job_id})
    assert (reply.status, reply.error["message"]) == (401, "The credentials are not valid.")
    assert held.record.state == "active"


def test_without_keys_a_broken_token_is_refused() -> None:
    """It stands for somebody else's report."""
    held = Held(has_keys=False)
    for text in ("ojs_attempt_", "ojs_attempt_x.1.y.2.z"):
        reply = held.api.post(
            "/workers/ack", {"job_id": held.job_id}, headers={"authorization": f"Bearer {text}"}
        )
        assert (reply.status, reply.error["message"]) == (401, "The credentials are not valid.")
    assert held.record.state == "active"


@pytest.mark.parametrize("header", ["", "Bearer key", "Basic ojs_attempt_x", "ojs_attempt_x"])
def test_without_keys_other_credentials_mean_nothing(header: str) -> None:
    """Access is open."""
    held = Held(has_keys=False)
    reply = held.api.post(
        "/workers/ack", {"job_id": held.job_id}, headers={"authorization": header}
    )
    assert reply.status == 200


# ------------------------------------------------------------------------------ heartbeats
def test_a_heartbeat_by_token_extends_the_reservation() -> None:
    """By what it asks for; else by what the job was claimed for. No worker is registered."""
    held = Held(visibility_timeout_ms=60_000)
    now = held.world.clock.now
    for body, extended_ms in (({}, 60_000), ({"visibility_timeout_ms": 240_000}, 240_000)):
        held.world.clock.advance(s=30)
        reply = held.send(held.grant, "POST", "/ojs/v1/workers/heartbeat", body)
        assert reply.json["jobs_extended"] == [held.job_id]
        assert held.record.reservation.expires_at >= now() + extended_ms - 1
    with held.as_anybody():
        known = {each["id"] for each in held.api.get("/admin/workers").json["items"]}
    assert "push_worker_1" not in known
    held.world.clock.advance(s=200)
    assert held.report("ack", held.grant).status == 200


def test_a_heartbeat_by_token_needs_no_body() -> None:
    """The token says which job it is about."""
    held = Held()
    reply = held.send(held.grant, "POST", "/ojs/v1/workers/heartbeat")
    assert (reply.status, reply.json["jobs_extended"]) == (200, [held.job_id])
    held.api.authorizer = as_caller(ANYBODY)
    assert held.api.post("/workers/heartbeat").status == 400


def test_an_endpoint_takes_a_job_over_from_a_worker_that_beats() -> None:
    """The worker's missed heartbeats end the attempt no more."""
    held = Held(heartbeat_interval_ms=15_000, visibility_timeout_ms=60_000)
    silent_at = held.record.reservation.alive_until
    assert silent_at is not None
    body = {"visibility_timeout_ms": 300_000}
    held.send(held.grant, "POST", "/ojs/v1/workers/heartbeat", body)
    assert held.record.reservation.due_at == held.world.clock.now() + 300_000
    held.world.clock.advance(s=299)
    assert held.report("ack", held.grant).status == 200


def test_a_heartbeat_by_token_shortens_no_reservation() -> None:
    """One of a worker that never beats ends when it did."""
    held = Held(visibility_timeout_ms=600_000)
    before = held.record.reservation
    body = {"visibility_timeout_ms": 1000}
    held.send(held.grant, "POST", "/ojs/v1/workers/heartbeat", body)
    after = held.record.reservation
    assert (after.due_at, after.alive_until) == (before.due_at, None)


@pytest.mark.parametrize(
    "named",
    [
        {"active_jobs": ["01912345-6789-7abc-8def-0123456789ff"]},
        {"reservation_ids": {"01912345-6789-7abc-8def-0123456789ff": "r"}},
        {"attempts": {"01912345-6789-7abc-8def-0123456789ff": 1}},
    ],
)
def test_a_heartbeat_by_token_names_no_other_job(named: dict[str, Any]) -> None:
    """In whatever member."""
    held = Held()
    reply = held.send(held.grant, "POST", "/ojs/v1/workers/heartbeat", named)
    assert reply.status == 403
