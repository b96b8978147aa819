"""Defines what bindings of all kinds share: functions, triggers, and checks of their types."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aws_cdk import Duration
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from ojs_aws.cdk.backend_stack import DEFAULT_MAX_CONCURRENCY
from ojs_aws.cdk.bundle import backend_bundle, with_services
from ojs_aws.cdk.function_options import secret_services, secrets_environment
from ojs_aws.cdk.job_backend import JobBackend
from ojs_aws.cdk.job_queues import VISIBILITY_PER_TIMEOUT
from ojs_aws.cdk.monitoring.alarms import alarm, notify
from ojs_aws.cdk.ojs_function import OjsFunction, OjsFunctionProps
from ojs_aws.cdk.storage import own_queue, tag_triggers

if TYPE_CHECKING:
    from aws_cdk import aws_ecs as ecs  # takes seconds to import

TIMEOUT_S: Final = 30
"""Of dispatchers and settlers, which wait for no handler."""
FAILURES: Final = 3
"""Errors in five minutes at which the alarm of such a function rings. A failed sweep is one."""
LONGEST_TIMEOUT_S: Final = 604_800
MOST_JOBS: Final = 1_000_000
"""A week, and what the API allows."""
BINDING_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]{0,31}")


@dataclass(frozen=True, slots=True, kw_only=True)
class BindingOptions:
    """Say how the functions of bindings run.

    :ivar backend: whose jobs they dispatch.
    :ivar batch_size: jobs that one invocation dispatches or settles at most (1 to 10).
    :ivar max_concurrency: invocations of the dispatcher for each queue, and of the settler, at a
        time (2 to 1000). It does not bound how many jobs run: limits of the queue do.
    :ivar memory_mb: of dispatcher and settler.
    """

    backend: JobBackend
    batch_size: int = 10
    max_concurrency: int | None = DEFAULT_MAX_CONCURRENCY
    memory_mb: int = 512
    log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH
    log_level: str = "INFO"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetConfig:
    """Say how the jobs of a binding run, where nobody has registered something else.

    :ivar non_retryable_errors: of errors after which no retry helps, as a retry policy names them.
    :ivar job_timeout_s: how long the target should take for a job, in seconds. It shortens no
        reservation.
    :ivar max_jobs: of a queue that are active at the target at a time. A job costs more with it, as
        one with any limit. None: any number.
    """

    non_retryable_errors: Sequence[str] = ()
    job_timeout_s: int | None = None
    max_jobs: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundTarget(TargetConfig):
    """Say which jobs a target of a binding runs, beside its config.

    :ivar queues: the OJS queues; each must be declared by the backend.
    :ivar types: of the jobs: ``"email.send"``, ``"email.*"``, or ``"*"`` for all.
    """

    queues: Sequence[str]
    types: Sequence[str] = ("*",)

    def described(self, name: str, **more: object) -> dict[str, object]:
        """Return what a binding of this name runs, and how, as the API reads it."""
        runs = {"queues": [*self.queues], "types": [*self.types]}
        return {**runs, **more, **config_of(name, self)}


def binding_function(
    scope: Construct,
    name: str,
    description: str,
    options: BindingOptions,
    environment: Mapping[str, str],
    *,
    secrets: Mapping[str, ecs.Secret] | None = None,
    services: Sequence[str] = (),
    timeout_s: int = TIMEOUT_S,
) -> OjsFunction:
    """Return a function of bindings, whose handler is below ``functions``, with an alarm.

    :param name: of the folder of its handler.
    :param services: further AWS services that it calls.
    """
    backend, named = options.backend, secrets or {}
    tracing = backend.props.tracing
    bundle = backend_bundle(backend.props.target, tracing=tracing)
    function = OjsFunction(
        scope,
        "".join(part.capitalize() for part in name.split("_")),
        OjsFunctionProps(
            handler=f"functions.{name}.handler.handler",
            bundle=with_services(bundle, [*secret_services(scope, named), *services]),
            description=f"Open Job Spec: {description}",
            service=f"ojs-{name.replace('_', '-')}",
            environment={
                **backend.environment,
                **environment,
                **secrets_environment(scope, named),
            },
            memory_mb=options.memory_mb,
            timeout_s=timeout_s,
            log_retention=options.log_retention,
            log_level=options.log_level,
            tracing=tracing,
            loops=True,  # retries come back to it
        ),
    )
    for secret in named.values():
        secret.grant_read(function)
    fails = alarm(
        function,
        "Fails",
        f"The {name.replace('_', ' ')} of bindings fails.",
        "operations-platform.md#a-function-fails",
        function.metric_errors(period=Duration.minutes(5), statistic="Sum"),
        FAILURES,
    )
    notify(fails, backend.props.alarm_topic)
    return function


def binding_trigger(options: BindingOptions, queue: sqs.IQueue) -> sources.SqsEventSource:
    """Return what invokes a function for the messages of a queue."""
    return sources.SqsEventSource(
        queue,
        batch_size=options.batch_size,
        max_concurrency=options.max_concurrency,
        report_batch_item_failures=True,
    )


def serve_queues(
    scope: Construct, dispatcher: OjsFunction, options: BindingOptions, queues: Sequence[sqs.IQueue]
) -> None:
    """Let the messages of queues invoke a dispatcher, but not while a queue is paused."""
    backend = options.backend
    for queue in queues:
        dispatcher.add_event_source(binding_trigger(options, queue))
    tag_triggers(dispatcher, backend.queues.prefix)
    backend.worker_concurrency.add(scope, options.max_concurrency, len(queues))


def ends_queue(
    scope: Construct, id_: str, options: BindingOptions, *, timeout_s: int, tries: int
) -> sqs.Queue:
    """Return a queue of what became of jobs, for a settler.

    :param timeout_s: of the settler.
    :param tries: receives of a message before it becomes a dead letter.
    """
    return own_queue(
        scope,
        id_,
        visibility_timeout=Duration.seconds(VISIBILITY_PER_TIMEOUT * timeout_s),
        retention_period=Duration.days(1),
        dead_letter_queue=sqs.DeadLetterQueue(
            queue=options.backend.queues.dead_letters, max_receive_count=tries
        ),
    )


def check_reports(options: BindingOptions) -> None:
    """Refuse a secret of tokens where the API knows none.

    :raises ValueError: saying what is missing.
    """
    if not options.backend.takes_reports:
        raise ValueError(
            "signing_secret needs an API that knows it, too: name it in "
            "JobBackendProps(report_secrets=[...])."
        )


def check_targets(targets: Mapping[str, BoundTarget]) -> None:
    """Refuse targets whose jobs nobody could tell apart.

    :raises ValueError: naming which, and why.
    """
    if not targets:
        raise ValueError("Name a target at least: targets={'email': ...}.")
    owners: dict[tuple[str, str], str] = {}
    for name, target in targets.items():
        if not BINDING_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a binding: use 1 to 32 letters and digits.")
        if not target.queues or isinstance(target.types, str):
            raise ValueError(f"The target {name!r} needs queues, and its types as a list.")
        if any("*" in pattern[:-1] for pattern in target.types):
            raise ValueError(f"A pattern of job types has one * at its end ({name!r}).")
        for queue in target.queues:
            for pattern in target.types:
                other = owners.setdefault((queue, pattern), name)
                if other != name:
                    raise ValueError(
                        f"The targets {other!r} and {name!r} both serve {pattern!r} of the queue "
                        f"{queue!r}: name different types."
                    )


def config_of(name: str, target: TargetConfig) -> dict[str, object]:
    """Return the config of a binding, as dispatchers and the API read it; empty for none.

    :raises ValueError: saying what is wrong with it.
    """
    said: Sequence[object] = target.non_retryable_errors
    errors = [each for each in said if isinstance(each, str) and each]
    if isinstance(said, str) or len(errors) < len(said):
        raise ValueError(
            f"non_retryable_errors of {name!r} is a list of names of errors: ['exit.3']."
        )
    config: dict[str, object] = {}
    if target.job_timeout_s is not None:
        if not 1 <= target.job_timeout_s <= LONGEST_TIMEOUT_S:
            raise ValueError(f"job_timeout_s of {name!r} is between 1 and {LONGEST_TIMEOUT_S}.")
        config["timeout_ms"] = target.job_timeout_s * 1000
    if target.max_jobs is not None:
        if not 1 <= target.max_jobs <= MOST_JOBS:
            raise ValueError(f"max_jobs of {name!r} is between 1 and {MOST_JOBS}.")
        config["max_concurrency"] = target.max_jobs
    if errors:
        config["retry"] = {"non_retryable_errors": errors}
    return {"config": config} if config else {}
