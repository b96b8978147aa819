"""Binds queues to Lambda functions of any language, which need nothing of this package."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_destinations as destinations
from constructs import Construct

from ojs_aws.cdk.job_queues import VISIBILITY_PER_TIMEOUT
from ojs_aws.cdk.ojs_function import OjsFunction
from ojs_aws.cdk.permissions import DISPATCHER, SETTLER
from ojs_aws.cdk.workers.binding_functions import (
    TIMEOUT_S,
    BindingOptions,
    BoundTarget,
    binding_function,
    binding_trigger,
    check_reports,
    check_targets,
    config_of,
    ends_queue,
    serve_queues,
)
from ojs_aws.topology import BINDINGS, REPORT_URL, SIGNING_SECRET

if TYPE_CHECKING:
    from aws_cdk import aws_ecs as ecs  # takes seconds to import

SPARE_S: Final = 30
"""What a reservation has beside the event's wait and the function's time: for a cold start, and
for the outcome's way back, in seconds."""
SHORTEST_AGE_S: Final = 60
LONGEST_AGE_S: Final = 21_600
"""Bounds of Lambda for the age of an event, in seconds."""
OUTCOME_TRIES: Final = 100
DEFAULT_TIMEOUT_S: Final = 3
"""Lambda's own, of a function that names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LambdaTarget(BoundTarget):
    """Say which function runs which jobs, beside the config of its binding.

    :ivar function: the function, in any runtime. It gets the event, and its return value is the
        result. Its asynchronous invocations by others keep their settings: the binding has an alias
        of its own.
    :ivar queues: the OJS queues; each must be declared by the backend.
    :ivar types: of the jobs: ``"email.send"``, ``"email.*"``, or ``"*"`` for all. Bindings of one
        queue serve different ones. Operators may register others; with none here, the function runs
        nothing before they do.
    :ivar max_event_age_s: for how long a job may wait in Lambda's queue while the function is busy,
        in seconds (60 to 21,600). Then it is given back.
    """

    function: lambda_.Function
    max_event_age_s: int = SHORTEST_AGE_S


@dataclass(frozen=True, slots=True, kw_only=True)
class LambdaBindingsProps(BindingOptions):
    """Say which functions run the jobs of which queues, beside the options of bindings.

    :ivar targets: by the names of their bindings, of letters and digits. The functions themselves
        are bounded by their reserved concurrency, or by the queue's limits.
    :ivar signing_secret: lets the functions report progress, checkpoints and heartbeats while they
        run: each event has a token, which this secret signs. The backend's ``report_secrets`` must
        have it. None: they cannot.
    """

    targets: Mapping[str, LambdaTarget]
    signing_secret: ecs.Secret | None = None


class LambdaBindings(Construct):
    """Define a dispatcher and a settler, and an alias of each function that they serve.

    A queue's jobs are handed to the alias, which Lambda invokes once, and their outcomes come back
    by a queue. No function waits for another one. The dispatcher may invoke these aliases, and no
    other function.

    :ivar dispatcher: the function that claims jobs and hands them on.
    :ivar settler: the function that reports their outcomes.
    :ivar outcomes: the queue between functions and settler.
    :ivar aliases: the aliases by the names of their bindings.
    """

    def __init__(self, scope: Construct, id_: str, props: LambdaBindingsProps) -> None:
        """Define all of it.

        :raises ValueError: no target, a queue that the backend does not declare, an unusable name,
            two bindings for the same types of a queue, an age that Lambda does not take, a
            queue with bindings of another construct, or a secret where the API knows no tokens.
        """
        super().__init__(scope, id_)
        _check(props.targets)
        if props.signing_secret is not None:
            check_reports(props)
        self.props = props
        self.outcomes = ends_queue(
            self, "Outcomes", props, timeout_s=TIMEOUT_S, tries=OUTCOME_TRIES
        )
        self.aliases = {name: self._alias(name, each) for name, each in props.targets.items()}
        self.dispatcher = self._dispatcher()
        self.settler = binding_function(
            self, "settler", "Reports what became of dispatched jobs", props, {}
        )
        props.backend.grant(self.settler, SETTLER)
        self.settler.add_event_source(binding_trigger(self.props, self.outcomes))
        props.backend.allow_targets(
            {name: each.described(name) for name, each in props.targets.items()}
        )

    def _alias(self, name: str, target: LambdaTarget) -> lambda_.Alias:
        """Return the alias of a target: invoked once, with both outcomes to one queue."""
        alias = lambda_.Alias(
            self,
            f"Target{name}",
            alias_name=f"ojs-{name}",
            version=target.function.current_version,
        )
        destination = destinations.SqsDestination(self.outcomes)
        alias.configure_async_invoke(
            retry_attempts=0,
            max_event_age=Duration.seconds(target.max_event_age_s),
            on_success=destination,
            on_failure=destination,
        )
        resource = target.function.node.default_child
        if isinstance(resource, lambda_.CfnFunction) and resource.recursive_loop is None:
            # A job that is retried passes the function again, by way of the outcomes' queue.
            resource.recursive_loop = "Allow"
        return alias

    def _dispatcher(self) -> OjsFunction:
        backend, described = self.props.backend, []
        longest: dict[str, int] = {}
        for name, target in self.props.targets.items():
            reservation_s = target.max_event_age_s + _timeout_s(target.function) + SPARE_S
            described.append(
                {
                    "name": name,
                    "queues": [*target.queues],
                    "target": self.aliases[name].function_arn,
                    "types": [*target.types],
                    "reservation_s": reservation_s,
                    **config_of(name, target),
                }
            )
            for queue in target.queues:
                longest[queue] = max(longest.get(queue, 0), reservation_s)
        queues = [
            backend.queues.serve(queue, -(-seconds // VISIBILITY_PER_TIMEOUT))
            for queue, seconds in longest.items()
        ]
        secrets, environment = {}, {BINDINGS: json.dumps(described)}
        if self.props.signing_secret is not None:
            secrets[SIGNING_SECRET] = self.props.signing_secret
            environment[REPORT_URL] = backend.api.url
        function = binding_function(
            self,
            "dispatcher",
            f"Hands the jobs of {', '.join(longest)} to functions"[:200],
            self.props,
            environment,
            secrets=secrets,
        )
        backend.grant(function, DISPATCHER, queues)
        function.add_to_role_policy(
            iam.PolicyStatement(
                actions=["lambda:InvokeFunction"],
                resources=[each.function_arn for each in self.aliases.values()],
            )
        )
        serve_queues(self, function, self.props, queues)
        return function


def _timeout_s(function: lambda_.Function) -> int:
    timeout = function.timeout
    return DEFAULT_TIMEOUT_S if timeout is None else round(timeout.to_seconds())


def _check(targets: Mapping[str, LambdaTarget]) -> None:
    """Refuse targets that cannot be served.

    :raises ValueError: naming which, and why.
    """
    check_targets(targets)
    for name, target in targets.items():
        if not SHORTEST_AGE_S <= target.max_event_age_s <= LONGEST_AGE_S:
            raise ValueError(
                f"max_event_age_s of {name!r} is between {SHORTEST_AGE_S} and {LONGEST_AGE_S}."
            )
