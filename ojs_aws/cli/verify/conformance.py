"""Asserts what the specification says of a job's life, at each URL.

It is a selection of the cases that the checkout runs (`tests/conformance`): what an installed
package can ask of a deployment within seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ojs_aws.cli.verify.site import MEDIA_TYPE, OK, Assertion, Door, Site, demand

UNKNOWN: Final = "01990000-0000-7000-8000-ffffffffffff"
_BIG: Final = 123456789012345678901234567890
ARGS: Final = [_BIG, 1e-7, "\U0001d11e\u2028", {"z": 1, "a": None}, "x" * 3000]
"""Arguments that a careless store would change."""


def is_refused(_: Site, door: Door, queue: str) -> None:
    """Check what is answered to mistakes."""
    for body, status in (
        ({"args": [], "options": {"queue": queue}}, 400),
        ({"type": "verify.job", "args": "none", "options": {"queue": queue}}, 400),
        (b"{", 400),
    ):
        answer = door.ask("POST", "jobs", body)
        demand(answer.status == status and answer.code, f"a bad job was answered with {answer}")
    answer = door.ask("GET", f"jobs/{UNKNOWN}")
    demand((answer.status, answer.code) == (404, "not_found"), f"an unknown job: {answer}")
    demand(answer.headers.get("ojs-version") == "1.0", "an answer has no OJS-Version")
    media_type = answer.headers.get("content-type", "")
    demand(media_type.startswith(MEDIA_TYPE), f"the content type is {media_type}")


def lives(_: Site, door: Door, queue: str) -> None:
    """Check a job from its push to its result: exact data, and one transition after the other."""
    job = door.push(queue, args=ARGS, meta={"b": 1, "a": 2})
    demand(job["state"] == "available", f"a pushed job is {job['state']}")
    claimed = door.fetch(queue)
    demand([each["id"] for each in claimed] == [job["id"]], f"fetched {claimed}")
    demand(claimed[0]["args"] == ARGS, f"other arguments: {str(claimed[0]['args'])[:100]}")
    demand(not door.fetch(queue), "a job was given to two workers")
    ack = {"job_id": job["id"], "worker_id": "verify", "result": {"n": _BIG}}
    answer = door.ask("POST", "workers/ack", ack)
    demand(answer.status == OK, f"an ACK was answered with {answer}")
    again = door.ask("POST", "workers/nack", {**ack, "error": {"type": "E", "message": "m"}})
    demand(again.status == 409, f"a report of an ended job was answered with {again}")  # noqa: PLR2004 - HTTP
    ended = door.job(job["id"])
    demand(ended["state"] == "completed", f"an acknowledged job is {ended['state']}")
    demand(ended["result"] == {"n": _BIG}, f"another result: {ended['result']}")


def fails(site: Site, door: Door, queue: str) -> None:
    """Check a failure that is retried, and the last one, which makes a dead letter."""
    retry = {"max_attempts": 2, "initial_interval": "PT1S", "on_exhaustion": "dead_letter"}
    job = door.push(queue, options={"queue": queue, "retry": retry})
    for state in ("retryable", "discarded"):
        site.eventually(lambda: door.fetch(queue), 30.0, f"the job is fetched to be {state}")
        error = {"type": "Verify", "message": "on purpose"}
        report = {"job_id": job["id"], "worker_id": "verify", "error": error}
        answer = door.ask("POST", "workers/nack", report)
        demand(answer.status == OK, f"a FAIL was answered with {answer}")
        found = door.job(job["id"])
        demand(found["state"] == state, f"a failed job is {found['state']}, not {state}")


def is_ordered(_: Site, door: Door, queue: str) -> None:
    """Check priorities, and that a cancelled job is not given to anybody."""
    low = door.push(queue, args=["low"])
    high = door.push(queue, args=["high"], options={"queue": queue, "priority": 5})
    gone = door.push(queue, args=["gone"], options={"queue": queue, "priority": 9})
    answer = door.ask("DELETE", f"jobs/{gone['id']}")
    demand(answer.status == OK, f"a cancellation was answered with {answer}")
    order = [job["id"] for _ in range(2) for job in door.fetch(queue)]
    demand(order == [high["id"], low["id"]], f"fetched {order}, not {high['id']} first")


CASES: Final[tuple[Callable[[Site, Door, str], None], ...]] = (is_refused, lives, fails, is_ordered)


def conforms(site: Site, door: Door) -> str:
    """Run all cases at a URL."""
    way = "iam" if door.sign else "key"
    for case in CASES:
        name = f"{case.__name__.replace('_', '-')}-{way}-{site.doors.index(door)}"
        case(site, door, site.queue(name))
    return f"{len(CASES)} cases"


CONFORMANCE: Final = tuple(
    Assertion(
        name=f"conformance with API keys, {name}",
        section="conformance",
        proves=f"requests with a key to the {name} are answered as the specification says",
        run=lambda site, at=at: conforms(site, site.doors[at]),  # type: ignore[misc]
    )
    for at, name in enumerate(("API Gateway", "job endpoint"))
)
