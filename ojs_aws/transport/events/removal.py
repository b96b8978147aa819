"""Answers CloudFormation, which asks for a removal by the events of a custom resource."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from ojs_aws.domain.errors import OjsError
from ojs_aws.services.upkeep.removal import Removal

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger

MARGIN_MS: Final = 30_000
"""Kept back from the invocation's time: for the step that has begun, and for the answer."""

MAX_REASON: Final = 500
"""Characters, each of up to six bytes in JSON; CloudFormation takes an answer of 4 KB."""

ANSWER_TIMEOUT_S: Final = 10.0

Handler = Callable[[Mapping[str, Any], object], None]
Answer = Callable[[str, bytes], None]


def build_removal(removal: Removal, answer: Answer, logger: Logger | None = None) -> Handler:
    """Return the handler of a custom resource that removes things when it is deleted itself.

    CloudFormation waits for an answer, so that each error becomes one. It shows the reason, and
    the deletion of the stack can be repeated.

    :param answer: sends the body of an answer to CloudFormation. If it raises, Lambda repeats the
        invocation.
    """
    from ojs_aws.transport.logs import function_logger, invocation_logged

    logger = logger or function_logger()

    def handle(event: Mapping[str, Any], context: object) -> None:
        with invocation_logged(logger, context):
            reason = ""
            try:
                if event["RequestType"] == "Delete":
                    removed = _remove(removal, event["ResourceProperties"], context)
                    logger.info("Removed", extra=removed)
            except Exception as problem:
                logger.exception("Could not remove")
                reason = _reason(problem)
            answer(event["ResponseURL"], _answer_to(event, reason))

    return handle


def put_answer(url: str, body: bytes) -> None:
    """Put an answer to where CloudFormation waits for it.

    :raises OSError: it did not arrive.
    """
    # The URL is signed for an empty content type.
    request = urllib.request.Request(  # noqa: S310 - CloudFormation's own URL
        url, body, {"Content-Type": ""}, method="PUT"
    )
    urllib.request.urlopen(request, timeout=ANSWER_TIMEOUT_S).close()  # noqa: S310 - the same


def _remove(removal: Removal, about: Mapping[str, Any], context: object) -> dict[str, int]:
    def has_time() -> bool:
        remaining: Any = getattr(context, "get_remaining_time_in_millis", None)
        return remaining is None or remaining() > MARGIN_MS

    # CloudFormation makes text of each value.
    with_queues = about.get("WithQueues") == "true"
    return asdict(removal(about["Bucket"], has_time, with_queues=with_queues))


def _reason(problem: Exception) -> str:
    hint = problem.hint if isinstance(problem, OjsError) else ""
    said = " ".join(filter(None, (str(problem) or type(problem).__name__, hint)))
    return said[:MAX_REASON]


def _answer_to(event: Mapping[str, Any], reason: str) -> bytes:
    """Return the body of an answer; a reason means that it failed.

    The resource keeps its physical id: a new one would make CloudFormation delete the old one.
    """
    answer = {
        "Status": "FAILED" if reason else "SUCCESS",
        "Reason": reason,
        "PhysicalResourceId": event.get("PhysicalResourceId") or event["LogicalResourceId"],
        **{name: event[name] for name in ("StackId", "RequestId", "LogicalResourceId")},
    }
    return json.dumps(answer).encode()
