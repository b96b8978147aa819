"""Declares what people choose of a deployment, and whose account it goes to."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from ojs_aws.cli.keys import or_exit
from ojs_aws.cli.terminal.output import Output
from ojs_aws.cli.terminal.session import misuse
from ojs_aws.domain.errors import InvalidRequestError

if TYPE_CHECKING:
    from ojs_aws.adapters.account import Account
    from ojs_aws.adapters.stacks import Stacks

A = TypeVar("A")

Stack = Annotated[str, typer.Option("--stack", help="Name of the CloudFormation stack.")]
Bundles = Annotated[
    str, typer.Option(help="A folder, or s3://bucket/folder, with the functions' zip.")
]
Architecture = Annotated[str, typer.Option(help="Processor of the functions: arm64 or x86_64.")]
Python = Annotated[str, typer.Option(help="Python of the functions, such as 3.13.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Says what somebody wants to deploy.

    :ivar queues: declared queues; empty: as deployed, or ``default``.
    :ivar parameters: of the template, those that somebody said.
    :ivar bundles: a folder or ``s3://`` prefix with the functions' zip; empty: pip makes it.
    :ivar bucket: where code and template are uploaded; empty: one of the account and region.
    :ivar architecture: of the functions; empty: as deployed, or the usual one.
    :ivar python: of the functions, such as ``3.13``; empty: as deployed, or the usual one.
    :ivar worker: a folder with the modules of a Lambda worker; None: as deployed.
    :ivar worker_concurrency: its invocations at a time, for each queue; None: as deployed.
    :ivar runs_demo: a Lambda worker runs the demo jobs, which are in the backend's own code.
    :ivar drops_worker: the stack is to have no worker.
    :ivar restored_stream: ARN of the stream of a restored table, which takes the place of the
        stack's own one; empty: as deployed.
    :ivar is_upgrade: there must be such a stack.
    """

    stack: str
    queues: Sequence[str] = ()
    parameters: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    bundles: str = ""
    bucket: str = ""
    architecture: str = ""
    python: str = ""
    worker: Path | None = None
    worker_concurrency: int | None = None
    runs_demo: bool = False
    drops_worker: bool = False
    restored_stream: str = ""
    is_upgrade: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """Holds the options that decide what is in the stack; None stays as it is deployed."""

    stack: Stack = "OjsBackend"
    queues: Annotated[
        str, typer.Option(help="Declared queues, with commas. Default: as deployed, or default.")
    ] = ""
    prefix: Annotated[
        str | None, typer.Option(help="Begins the name of each SQS queue. Default: ojs.")
    ] = None
    auth: Annotated[
        str | None, typer.Option(help="Who may call: api-key (the default), jwt, iam or none.")
    ] = None
    jwt_issuer: Annotated[str | None, typer.Option(help="With --auth jwt: the issuer's URL.")] = (
        None
    )
    jwt_audience: Annotated[
        str | None, typer.Option(help="With --auth jwt: audiences, with commas.")
    ] = None
    job_endpoint: Annotated[
        bool | None, typer.Option(help="A function URL for senders and workers beside the API.")
    ] = None
    alarm_email: Annotated[str | None, typer.Option(help="Who gets mail of alarms.")] = None
    encryption_key: Annotated[
        str | None, typer.Option(help="ARN of a KMS key for the table and the bucket.")
    ] = None
    log_days: Annotated[int | None, typer.Option(help="How long logs are kept.")] = None
    permissions_boundary: Annotated[
        str | None, typer.Option(help="ARN of the permissions boundary of all roles.")
    ] = None
    subnets: Annotated[
        str | None, typer.Option(help="Subnets of a VPC for the functions, with commas.")
    ] = None
    security_groups: Annotated[
        str | None, typer.Option(help="Their security groups, with commas.")
    ] = None
    worker: Annotated[
        Path | None,
        typer.Option(
            help="A folder with the modules of a Lambda worker for all declared queues, and "
            "their requirements.txt if they need packages."
        ),
    ] = None
    handler: Annotated[
        str | None, typer.Option(help="The worker's handler. Default: jobs.handler.")
    ] = None
    worker_concurrency: Annotated[
        int | None,
        typer.Option(
            min=2,
            max=1000,
            help="Invocations of the worker at a time, for each queue. Default: 100.",
        ),
    ] = None
    without_worker: Annotated[
        bool, typer.Option("--without-worker", help="Remove the Lambda worker.")
    ] = False
    restored_stream: Annotated[
        str,
        typer.Option(
            help="ARN of the stream of a restored table, as `ojs-aws restore table` prints it: the "
            "table takes the place of the stack's own, which stays."
        ),
    ] = ""
    tag: Annotated[
        list[str] | None, typer.Option(help="A tag of all resources: key=value. May be repeated.")
    ] = None

    def wanted(
        self,
        out: Output,
        *,
        bundles: str = "",
        bucket: str = "",
        architecture: str = "",
        python: str = "",
    ) -> Wanted:
        """Return what somebody wants to deploy.

        :raises typer.Exit: an option has no such value.
        """
        given = {
            "Prefix": self.prefix,
            "Auth": self.auth,
            "JwtIssuer": self.jwt_issuer,
            "JwtAudience": self.jwt_audience,
            "JobEndpoint": None if self.job_endpoint is None else str(self.job_endpoint).lower(),
            "AlarmEmail": self.alarm_email,
            "EncryptionKey": self.encryption_key,
            "LogRetentionDays": None if self.log_days is None else str(self.log_days),
            "PermissionsBoundary": self.permissions_boundary,
            "SubnetIds": self.subnets,
            "SecurityGroupIds": self.security_groups,
            "WorkerHandler": self.handler,
        }
        tags = dict(each.partition("=")[::2] for each in self.tag or ())
        if "" in tags.values():
            raise misuse(out, "--tag is key=value.")
        if self.worker is not None and self.without_worker:
            raise misuse(out, "--worker and --without-worker exclude each other.")
        return Wanted(
            stack=self.stack,
            queues=[*dict.fromkeys(filter(None, map(str.strip, self.queues.split(","))))],
            parameters={name: value for name, value in given.items() if value is not None},
            tags=tags,
            worker=self.worker,
            worker_concurrency=self.worker_concurrency,
            drops_worker=self.without_worker,
            restored_stream=self.restored_stream,
            bundles=bundles,
            bucket=bucket,
            architecture=known_architecture(out, architecture),
            python=python,
        )


def check(parameters: Mapping[str, str | None]) -> None:
    """Refuse choices that exclude each other.

    :raises InvalidRequestError: naming the options.
    """
    if parameters.get("Auth") == "jwt":
        if not parameters.get("JwtIssuer", "") or not parameters.get("JwtAudience", ""):
            raise InvalidRequestError("--auth jwt needs --jwt-issuer and --jwt-audience, too.")
        if parameters.get("JobEndpoint") == "true":
            raise InvalidRequestError(
                "Only the gateway checks tokens: leave out --job-endpoint, or take another --auth."
            )
    if bool(parameters.get("SubnetIds")) != bool(parameters.get("SecurityGroupIds")):
        raise InvalidRequestError("--subnets and --security-groups go together.")


def known_architecture(out: Output, said: str) -> str:
    """Return an architecture that Lambda knows, or what nobody said.

    :raises typer.Exit: another one.
    """
    if said not in {"", "arm64", "x86_64"}:
        raise misuse(out, f"--architecture is arm64 or x86_64, not {said!r}.")
    return said


def with_account(
    out: Output,
    endpoint_url: str | None,
    act: Callable[[Stacks, Account], A],
    *,
    region: str = "",
) -> A:
    """Run a function with the caller's own AWS credentials.

    :param region: empty: that of the environment.
    :raises typer.Exit: with the code of what went wrong, after saying it.
    """
    from ojs_aws.adapters.errors import translated
    from ojs_aws.bootstrap import account_of, stacks_of

    where = region or os.environ.get("AWS_REGION")  # botocore reads AWS_DEFAULT_REGION only

    def run() -> A:
        with translated("Connecting"):
            account = account_of(endpoint_url, where)
            stacks = stacks_of(endpoint_url, where, account.number())
        return act(stacks, account)

    return or_exit(out, run)
