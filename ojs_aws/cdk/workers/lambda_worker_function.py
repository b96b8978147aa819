"""Defines a user's Lambda worker: a function that SQS invokes with jobs."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from aws_cdk import Tags
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_logs as logs
from constructs import Construct

from ojs_aws.cdk.backend_stack import DEFAULT_MAX_CONCURRENCY
from ojs_aws.cdk.bundle import BACKEND_SERVICES, Bundle, Target, lock_of
from ojs_aws.cdk.function_options import (
    FunctionOptions,
    WarmStart,
    secret_services,
    secrets_environment,
)
from ojs_aws.cdk.job_backend import JobBackend
from ojs_aws.cdk.ojs_function import OjsFunction, OjsFunctionProps
from ojs_aws.cdk.permissions import LAMBDA_WORKER
from ojs_aws.cdk.storage import tag_triggers
from ojs_aws.cdk.workers.worker_network import warn_without_a_route

_EXECUTIONS_OF_A_POLLER: Final = 10
_MOST_POLLERS: Final = 200
"""Of an event source mapping of SQS in provisioned mode, where nobody says how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LambdaWorkerFunctionProps(FunctionOptions):
    """Say what the worker runs, and how, beside the options of its function.

    :ivar backend: whose jobs it runs.
    :ivar handler: module and attribute of ``worker.lambda_handler``, such as ``jobs.handler``. Of
        an ``image`` its ``cmd`` says so.
    :ivar queues: the OJS queues that it serves; each must be declared by the backend.
    :ivar code_dir: folder of the worker's modules; a ``requirements.txt`` in it is installed too.
        None where the handler is part of an installed package of the bundle.
    :ivar aws_services: the AWS services, by botocore's names, that the handlers themselves use;
        the models of all others are left out, which makes the bundle half as big. None keeps all.
    :ivar environment: settings of the worker's own.
    :ivar batch_size: most jobs of one invocation (1 to 10); they run concurrently.
    :ivar max_concurrency: most invocations at a time for each queue (2 to 1000); None: no limit,
        so that a backlog can take the executions that API, stream and tick need.
    :ivar pollers: SQS provisioned mode: pollers that are always there, and how many there may be,
        for a load that rises within seconds. AWS bills them by the hour. It excludes
        ``max_concurrency``: each poller invokes up to ten times at once.
    :ivar target: architecture and Python version; None: those of the backend.
    :ivar permissions_boundary: of its roles; None: none.
    :ivar tags: of all its resources.
    :ivar timeout_s: longest invocation, 900 at most; a job that is not done by then comes back.
    :ivar memory_mb: memory of the function.
    :ivar start: how it is made ready before there are jobs; None: not.
    :ivar tracing: trace it with AWS X-Ray; None: where the backend is traced.
    :ivar log_retention: how long its log is kept.
    :ivar log_level: least level that it logs. Loggers of Powertools in the code of its own take
        Lambda's level, which is INFO at most since metrics would be dropped.
    """

    backend: JobBackend
    handler: str = ""
    queues: Sequence[str]
    code_dir: Path | None = None
    aws_services: Sequence[str] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    batch_size: int = 10
    max_concurrency: int | None = DEFAULT_MAX_CONCURRENCY
    pollers: lambda_.ProvisionedPollerConfig | None = None
    target: Target | None = None
    permissions_boundary: iam.IManagedPolicy | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    timeout_s: int = 60
    memory_mb: int = 512
    start: WarmStart | None = None
    tracing: bool | None = None
    log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH
    log_level: str = "INFO"


class LambdaWorkerFunction(Construct):
    """Define a function, a trigger for each queue that it serves, and a worker's rights.

    The queues get a visibility timeout of six times the function's timeout. Messages of jobs that
    are not done are reported one by one, so that the others of their batch do not run again.

    :ivar function: the function; grant it what its handlers need.
    """

    def __init__(self, scope: Construct, id_: str, props: LambdaWorkerFunctionProps) -> None:
        """Define the function and its triggers.

        :raises ValueError: a queue that the backend does not declare, or no queue at all, or
            options that a function cannot have.
        """
        super().__init__(scope, id_)
        _check(props)
        backend = props.backend
        tracing = backend.props.tracing if props.tracing is None else props.tracing
        services = secret_services(self, props.secrets)
        queues = [backend.queues.serve(name, props.timeout_s) for name in props.queues]
        self.function = OjsFunction(
            self,
            "Function",
            OjsFunctionProps(
                handler=props.handler,
                bundle=_bundle(props, services, tracing=tracing),
                description=_description(props.queues),
                service="ojs-worker",
                environment={
                    **props.environment,
                    **secrets_environment(self, props.secrets),
                    **backend.environment,
                },
                memory_mb=props.memory_mb,
                timeout_s=props.timeout_s,
                log_retention=props.log_retention,
                log_level=props.log_level,
                start=props.start,
                tracing=tracing,
                reserved_concurrency=props.reserved_concurrency,
                options=props,
                loops=True,  # retries, messages that wait for a limit, jobs that enqueue jobs
            ),
        )
        backend.grant(self.function, LAMBDA_WORKER, queues)
        for secret in props.secrets.values():
            secret.grant_read(self.function)
        for queue in queues:
            trigger = sources.SqsEventSource(
                queue,
                batch_size=props.batch_size,
                max_concurrency=None if props.pollers else props.max_concurrency,
                provisioned_poller_config=props.pollers,
                report_batch_item_failures=True,
            )
            self.function.live.add_event_source(trigger)
        backend.worker_concurrency.add(self, _executions(props), len(queues))
        tag_triggers(self, backend.queues.prefix)
        for key, value in props.tags.items():
            Tags.of(self).add(key, value)
        if props.permissions_boundary is not None:
            iam.PermissionsBoundary.of(self).apply(props.permissions_boundary)
        warn_without_a_route(self, props, services)


def _check(props: LambdaWorkerFunctionProps) -> None:
    """Refuse a worker without queues, without code, or with code twice.

    :raises ValueError: naming what is missing.
    """
    if not props.queues:
        raise ValueError("A Lambda worker serves at least one queue.")
    if (props.image is None) == (not props.handler):
        raise ValueError("Say handler, or image with its cmd, and not both.")


def _executions(props: LambdaWorkerFunctionProps) -> int | None:
    """Return how many invocations there may be at a time for each queue; None: any number."""
    if props.pollers is None:
        return props.max_concurrency
    most = props.pollers.maximum_pollers or _MOST_POLLERS
    return round(most) * _EXECUTIONS_OF_A_POLLER


def _description(queues: Sequence[str]) -> str:
    """Describe the function within the 256 characters that Lambda takes."""
    return textwrap.shorten(
        f"Open Job Spec: worker of {', '.join(queues)}", 256, placeholder=" ..."
    )


def _bundle(props: LambdaWorkerFunctionProps, more: Sequence[str], *, tracing: bool) -> Bundle:
    services = props.aws_services
    return Bundle(
        target=props.target or props.backend.props.target,
        lock=lock_of(tracing=tracing),
        code_dir=props.code_dir,
        botocore_services=None
        if services is None
        else tuple(sorted({*BACKEND_SERVICES, *services, *more})),
    )
