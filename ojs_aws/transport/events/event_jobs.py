"""Enqueues the jobs of events that a queue delivers (ojs-cloudevents-interop, section 8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ojs_aws.domain.cloud_events import EventRule, read_event, rule_for
from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import DuplicateError, OjsError

if TYPE_CHECKING:
    from aws_lambda_powertools import Logger

Failures: TypeAlias = dict[str, list[dict[str, str]]]
Handler: TypeAlias = Callable[[Mapping[str, Any], object], Failures]


def build_event_jobs(
    push: Callable[[Job], object], rules: Sequence[EventRule], logger: Logger | None = None
) -> Handler:
    """Return the handler of SQS messages, each of which is an event.

    A message whose job cannot be enqueued now comes again. After some tries it goes to the
    dead-letter queue, and so does an event that its rule does not fit.

    :param push: enqueues a job.
    """
    from ojs_aws.transport.logs import function_logger, invocation_logged

    event_jobs = EventJobs(push, tuple(rules), logger or function_logger())

    def handle(event: Mapping[str, Any], context: object) -> Failures:
        with invocation_logged(event_jobs.logger, context):
            failed = [
                message["messageId"]
                for message in event.get("Records") or ()
                if not event_jobs.enqueue(message["body"])
            ]
        return {"batchItemFailures": [{"itemIdentifier": each} for each in failed]}

    return handle


@dataclass(frozen=True, slots=True)
class EventJobs:
    """Enqueues jobs of events; :func:`build_event_jobs` describes its parts."""

    push: Callable[[Job], object]
    rules: tuple[EventRule, ...]
    logger: Logger

    def enqueue(self, text: str) -> bool:
        """Enqueue the job of an event once; return whether the message is done with."""
        job = None
        try:
            event = read_event(text)
            rule = rule_for(self.rules, event)
            if rule is None:
                self.logger.info("No rule makes a job of this event", extra={"event_id": event.id})
                return True
            job = rule.job_of(event)
            self.push(job)
        except DuplicateError as known:
            extra = {"job_id": job and job.id, "reason": known.message}
            self.logger.info("The job of this event is there already", extra=extra)
        except OjsError as problem:
            extra = {"job_id": job and job.id, "code": problem.code}
            self.logger.error("An event made no job: %s", problem.message, extra=extra)
            return False
        except Exception:  # one event must not bring back the others
            self.logger.exception("An event made no job", extra={"job_id": job and job.id})
            return False
        return True
