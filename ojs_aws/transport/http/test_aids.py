"""Adds to the API in test mode the directives that conformance cases put into their jobs.

Imported only when the setting is on, which is refused in AWS Lambda. A job with ``test_directive``
in its ``meta`` makes the heartbeat of its holder answer that directive. (The reset of all state
belongs to the local server, which owns the table and the queues.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.json_text import ANY_DEPTH, decode
from ojs_aws.services.jobs.render import render_job
from ojs_aws.services.workers.heartbeat import HeartbeatResult
from ojs_aws.transport.http.calls import Answer, Call
from ojs_aws.transport.http.jobs import worker_handlers as worker_api
from ojs_aws.transport.http.jobs.serializers import heartbeat_answer

if TYPE_CHECKING:
    from ojs_aws.transport.http.jobs.models import HeartbeatAnswer

DIRECTIVES: Final = ("running", "quiet", "terminate")


def heartbeat(call: Call) -> Answer[HeartbeatAnswer]:
    """Carry out BEAT, with the directive of the held jobs instead of the worker's own."""
    worker_id, result = worker_api.beat(call)
    wanted = [_directive(call, job_id) for job_id in result.extended]
    return Answer(heartbeat_answer(_directed(result, wanted), worker_id))


def _directed(result: HeartbeatResult, wanted: list[str]) -> HeartbeatResult:
    strongest = max([result.state, *filter(None, wanted)], key=DIRECTIVES.index)
    return replace(result, state=strongest)


def _directive(call: Call, job_id: str) -> str:
    """Return the directive that a job asks for, or an empty text."""
    record = call.backend.stores.store.load_whole(job_id)
    meta = decode(render_job(record)["meta"], max_depth=ANY_DEPTH) if record else None
    directive = meta.get("test_directive") if isinstance(meta, dict) else None
    return directive if isinstance(directive, str) and directive in DIRECTIVES else ""


HANDLERS: Final[Mapping[str, Callable[[Call], Answer[object]]]] = {"heartbeat": heartbeat}
"""Handlers in the place of the ordinary ones, by operation."""
