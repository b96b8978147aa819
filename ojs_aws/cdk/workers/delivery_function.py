"""Defines the function that delivers the jobs of queues to an HTTPS endpoint."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Final

from aws_cdk import Token
from constructs import Construct

from ojs_aws.cdk.backend_stack import DEFAULT_MAX_CONCURRENCY
from ojs_aws.cdk.function_options import FunctionOptions
from ojs_aws.cdk.job_backend import JobBackend
from ojs_aws.cdk.workers.binding_functions import BINDING_NAME, TargetConfig, config_of
from ojs_aws.cdk.workers.lambda_worker_function import (
    LambdaWorkerFunction,
    LambdaWorkerFunctionProps,
)
from ojs_aws.topology import DELIVERY, DELIVERY_START_S, SIGNING_SECRET

if TYPE_CHECKING:
    from aws_cdk import aws_ecs as ecs  # takes seconds to import

HANDLER: Final = "ojs_aws.worker.delivery.function.handler"
SPARE_S: Final = 10
"""What the function has beside the time of its endpoint: to claim jobs, and to report."""
LONGEST_REPORT_S: Final = 43_200
"""SQS hides a message for twelve hours at most."""
_URL: Final = re.compile(r"https://[^\s/?#@]+([/?][^\s#]*)?")
_PREFIX: Final = re.compile(r"https://[a-z0-9.-]+(:[0-9]+)?/([A-Za-z0-9_~.-]+/)*", re.ASCII)
LONGEST_S: Final = 900 - SPARE_S - DELIVERY_START_S


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointTarget(TargetConfig):
    """Say which URLs may be registered for a binding, beside its config.

    :ivar prefixes: of the URLs, such as ``https://app.example.com/jobs/``.
    """

    prefixes: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryFunctionProps(FunctionOptions):
    """Say which jobs are delivered where, beside the options of the function.

    :ivar backend: whose jobs are delivered.
    :ivar queues: the OJS queues; each must be declared by the backend.
    :ivar url: of the endpoint, by HTTPS, or that of a construct, such as a function's; empty with
        ``bindings``.
    :ivar bindings: lets administrators register endpoints at the API: for each name of a binding
        the prefixes of its URLs, such as ``{"shop": ["https://app.example.com/jobs/"]}``, or an
        :class:`EndpointTarget` with them and a config. These endpoints need public addresses.
        ``types`` are registered, too.
    :ivar signing_secret: what signs each request, as ``ecs.Secret.from_secrets_manager(secret)``.
        It may hold two keys, separated by a comma, while one replaces the other.
    :ivar types: of the jobs: ``"email.send"``, ``"email.*"``, or ``"*"`` for all.
    :ivar endpoint_timeout_s: seconds that the endpoint has for a job, 880 at most.
    :ivar report_within_s: let the endpoint answer 202 and report later: seconds that such a job has
        until its first report. The backend's ``report_secrets`` must have the signing secret. None:
        the endpoint answers how the job ended.
    :ivar batch_size: jobs of one invocation at most, which are delivered at the same time.
    :ivar max_concurrency: invocations at a time for each queue at most (2 to 1000). So the
        endpoint gets at most ``batch_size`` times as many requests at a time.
    :ivar memory_mb: memory of the function.
    """

    backend: JobBackend
    queues: Sequence[str]
    url: str = ""
    bindings: Mapping[str, Sequence[str] | EndpointTarget] = field(default_factory=dict)
    signing_secret: ecs.Secret
    types: Sequence[str] = ("*",)
    endpoint_timeout_s: int = 30
    report_within_s: int | None = None
    batch_size: int = 10
    max_concurrency: int | None = DEFAULT_MAX_CONCURRENCY
    memory_mb: int = 256


class DeliveryFunction(Construct):
    """Define a function that delivers jobs to an endpoint, and reports how they end.

    The endpoint may be a function URL, a container behind a load balancer, or a web application:
    whatever answers HTTPS requests, in any language.

    :ivar worker: the Lambda worker that delivers them.
    """

    def __init__(self, scope: Construct, id_: str, props: DeliveryFunctionProps) -> None:
        """Define the function and its triggers.

        :raises ValueError: a queue that the backend does not declare, or with bindings of another
            construct, no usable URL or config, or more time than a function has.
        """
        super().__init__(scope, id_)
        if not 1 <= props.endpoint_timeout_s <= LONGEST_S:
            raise ValueError(f"endpoint_timeout_s is between 1 and {LONGEST_S}.")
        said: dict[str, object] = {
            "queues": [*props.queues],
            **_endpoints(props),
            "timeout_s": props.endpoint_timeout_s,
        }
        if props.report_within_s is not None:
            said["reports"] = _reports(props.backend, props.report_within_s)
        options = replace(props, secrets={**props.secrets, SIGNING_SECRET: props.signing_secret})
        self.worker = LambdaWorkerFunction(
            self,
            "Worker",
            LambdaWorkerFunctionProps(
                **{each.name: getattr(options, each.name) for each in fields(FunctionOptions)},
                backend=props.backend,
                handler=HANDLER,
                queues=props.queues,
                aws_services=(),
                environment={DELIVERY: json.dumps(said)},
                batch_size=props.batch_size,
                max_concurrency=props.max_concurrency,
                timeout_s=props.endpoint_timeout_s + DELIVERY_START_S + SPARE_S,
                memory_mb=props.memory_mb,
                log_retention=props.backend.props.log_retention,
                log_level=props.backend.props.log_level,
            ),
        )


def _endpoints(props: DeliveryFunctionProps) -> dict[str, object]:
    """Return where jobs are delivered, and let the API register it where the props do.

    :raises ValueError: no usable URL, prefix or config, or both.
    """
    if not props.bindings:
        is_token = Token.is_unresolved(props.url) and not props.url.startswith("http://")
        if not _URL.fullmatch(props.url) and not is_token:
            raise ValueError(f"The endpoint is reached by HTTPS: https://..., not {props.url!r}.")
        if props.types != "*" and (isinstance(props.types, str) or not props.types):
            raise ValueError("types is a list: ['email.send'], or ['*'] for all.")
        return {"url": props.url, "types": [*props.types]}
    if props.url:
        raise ValueError("Name the url of an endpoint, or bindings whose URLs are registered.")
    targets = {
        name: each if isinstance(each, EndpointTarget) else EndpointTarget(prefixes=each)
        for name, each in props.bindings.items()
    }
    bindings = {name: _prefixes(name, each) for name, each in targets.items()}
    configs = {name: found for name, each in targets.items() if (found := config_of(name, each))}
    props.backend.allow_targets(
        {
            name: {
                "queues": [*props.queues],
                "types": [],
                "prefixes": prefixes,
                **configs.get(name, {}),
            }
            for name, prefixes in bindings.items()
        }
    )
    said = {name: found["config"] for name, found in configs.items()}
    return {"bindings": bindings, "configs": said} if said else {"bindings": bindings}


def _prefixes(name: str, target: EndpointTarget) -> list[str]:
    """Return below which URLs the endpoints of a binding may be.

    :raises ValueError: no usable name or prefix.
    """
    given = target.prefixes
    if not BINDING_NAME.fullmatch(name) or not given or isinstance(given, str):
        raise ValueError(
            f"The binding {name!r} needs a name of 1 to 32 letters and digits, and a list of "
            "prefixes."
        )
    for prefix in given:
        if not _PREFIX.fullmatch(prefix):
            raise ValueError(f"A prefix is as https://app.example.com/jobs/, not {prefix!r}.")
    return [*given]


def _reports(backend: JobBackend, within_s: int) -> dict[str, object]:
    """Return where an endpoint reports that answers 202, and how soon.

    :raises ValueError: the API knows no tokens, or no reservation lasts for so long.
    """
    if not 1 <= within_s <= LONGEST_REPORT_S:
        raise ValueError(f"report_within_s is between 1 and {LONGEST_REPORT_S}.")
    if not backend.takes_reports:
        raise ValueError(
            "report_within_s needs an API that knows the signing secret: name it in "
            "JobBackendProps(report_secrets=[...])."
        )
    return {"report_url": backend.api.url, "report_within_s": within_s}
