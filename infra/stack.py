"""The stack that ``cdk deploy`` makes: one backend, and a worker to try it with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from aws_cdk import CfnOutput, RemovalPolicy, Stack
from constructs import Construct

from infra.bundling import Target
from infra.constructs.access import Access, ApiKeys
from infra.constructs.backend_extensions import BackendExtensions
from infra.constructs.job_backend import JobBackend, JobBackendProps
from infra.constructs.job_table import RestoredTable
from infra.constructs.lambda_worker_function import (
    LambdaWorkerFunction,
    LambdaWorkerFunctionProps,
)
from ojs_aws.topology import DEFAULT_QUEUE

DEMO_QUEUE: Final = "demo"


@dataclass(frozen=True, slots=True, kw_only=True)
class OjsStackProps:
    """What ``cdk.json`` or ``cdk deploy -c name=value`` can say.

    :ivar prefix: begins the names of the SQS queues; unique in an account and region.
    :ivar queues: the OJS queues that exist from the beginning.
    :ivar allow_undeclared_queues: make others at their first use.
    :ivar has_demo: add the queue ``demo`` and its worker, for the README's first job.
    :ivar extensions: enqueue middleware and hooks of your own.
    :ivar target: architecture and Python version of the functions.
    :ivar access: who may call the API.
    :ivar cors_origins: origins whose pages may use the API.
    :ivar restored_table: a table restored from a backup, to be used from now on.
    :ivar removal_policy: what becomes of the jobs when the stack goes.
    """

    prefix: str = "ojs"
    queues: Sequence[str] = (DEFAULT_QUEUE,)
    allow_undeclared_queues: bool = True
    has_demo: bool = True
    extensions: BackendExtensions | None = None
    target: Target = field(default_factory=Target)
    access: Access = field(default_factory=ApiKeys)
    cors_origins: Sequence[str] = ()
    restored_table: RestoredTable | None = None
    removal_policy: RemovalPolicy = RemovalPolicy.RETAIN


class OjsStack(Stack):
    """One backend with its outputs.

    :ivar backend: the backend.
    :ivar demo: the demo worker, when there is one.
    """

    def __init__(self, scope: Construct, id_: str, props: OjsStackProps) -> None:
        """Define the stack."""
        super().__init__(scope, id_, description="Open Job Spec backend (ojs-aws)")
        demo_queues = [DEMO_QUEUE] if props.has_demo else []
        self.backend = backend = JobBackend(
            self,
            "Backend",
            JobBackendProps(
                queue_prefix=props.prefix,
                queues=list(dict.fromkeys([*props.queues, *demo_queues])),
                allow_undeclared_queues=props.allow_undeclared_queues,
                extensions=props.extensions,
                target=props.target,
                access=props.access,
                cors_origins=props.cors_origins,
                restored_table=props.restored_table,
                removal_policy=props.removal_policy,
            ),
        )
        self.demo = self._demo_worker() if props.has_demo else None
        outputs = {
            "ApiUrl": backend.api.url,
            "TableName": backend.table.table.table_name,
            "QueueUrlPrefix": backend.queues.url_prefix,
            "QueuePrefix": props.prefix,
            "BucketName": backend.bucket.bucket_name,
            "EventBusName": backend.event_bus.event_bus_name,
            "DeadLetterQueueUrl": backend.queues.dead_letters.queue_url,
        }
        for name, value in outputs.items():
            CfnOutput(self, name, value=value)

    def _demo_worker(self) -> LambdaWorkerFunction:
        return LambdaWorkerFunction(
            self,
            "DemoWorker",
            LambdaWorkerFunctionProps(
                backend=self.backend,
                handler="ojs_aws.local.demo.handler",
                queues=[DEMO_QUEUE],
                aws_services=(),
                timeout_s=60,
            ),
        )
