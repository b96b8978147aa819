"""Gives senders and workers a URL of their own: a function URL, which costs nothing a request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from aws_cdk import Annotations, Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from ojs_aws.account_limits import NO_FUNCTION_URLS, NO_URL_HINT
from ojs_aws.cdk.api.access import Access, ApiKeys, Iam, OpenAccess
from ojs_aws.cdk.monitoring.alarms import alarm
from ojs_aws.cdk.ojs_function import OjsFunction
from ojs_aws.transport.http.routes import CORS_EXPOSED, CORS_HEADERS, CORS_MAX_AGE_S, CORS_METHODS

_OFFERED: Final = (ApiKeys, Iam, OpenAccess)
"""The kinds of access that need no gateway: the function or IAM checks who calls."""

WARNING: Final = "ojs:job-endpoint"

_REMOVED: Final = (
    "Since 0.2 a backend has a job endpoint only if it is asked for. If this one was deployed with "
    "its output JobEndpointUrl, the next deployment deletes its URL, and whoever uses it gets no "
    "answer. To keep it, set job_endpoint=True (-c job_endpoint=true). Otherwise first set OJS_URL "
    "of senders and workers to the output ApiUrl, then job_endpoint=False (-c "
    "job_endpoint=false), which also ends this warning. See docs/upgrades.md, 'The job endpoint'."
)

_FIVE: Final = Duration.minutes(5)
_FAILURES: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEndpointProps:
    """Say what answers, and who may call.

    :ivar function: the function that serves senders and workers.
    :ivar access: who may call; no kind that a gateway checks.
    :ivar cors_origins: origins whose pages may use the URL.
    """

    function: OjsFunction
    access: Access
    cors_origins: Sequence[str] = ()


class JobEndpoint(Construct):
    """Define the function URL of a backend, and the alarm of its errors.

    Requests do not pass API Gateway, so nobody pays for it. The function does what the gateway does
    beside routing: it finds callers by the authorizer's code, and logs each request. Its reserved
    concurrency is the bound of requests.

    :ivar function: the function.
    :ivar url: its URL, ending in a slash; clients add ``ojs/v1/...``.
    :ivar fails: rings when the function answers with errors of its own.
    """

    def __init__(self, scope: Construct, id_: str, props: JobEndpointProps) -> None:
        """Define the URL, who may invoke it, and the alarm.

        :raises ValueError: the stack is in a region without function URLs.
        """
        super().__init__(scope, id_)
        region = Stack.of(self).region  # a token, if it is known only when it is deployed
        if region in NO_FUNCTION_URLS:
            raise ValueError(f"The region {region} has no function URLs. {NO_URL_HINT}")
        self.function = props.function
        is_signed = isinstance(props.access, Iam)
        auth = lambda_.FunctionUrlAuthType
        self._made = props.function.live.add_function_url(
            auth_type=auth.AWS_IAM if is_signed else auth.NONE, cors=_cors(props.cors_origins)
        )
        self.url = self._made.url
        self.fails = alarm(
            self,
            "Fails",
            "The job endpoint answers with errors of its own.",
            "operations-platform.md#the-api-fails",
            cloudwatch.Metric(
                namespace="AWS/Lambda",
                metric_name="Url5xxCount",
                dimensions_map={"FunctionName": props.function.function_name},
                statistic="Sum",
                period=_FIVE,
            ),
            threshold=_FAILURES,
        )

    def grant_invoke(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let a principal call the URL with signed requests, where access is by IAM."""
        return self._made.grant_invoke_url(grantee)


def has_job_endpoint(access: Access, *, wanted: bool | None, concurrency: int | None) -> bool:
    """Return True if a backend has a job endpoint: only if it is asked for.

    :param wanted: None if nobody said anything, which means no.
    :param concurrency: executions that are set aside for it.
    :raises ValueError: it is wanted where only a gateway can check who calls, or executions are set
        aside for one that is not wanted.
    """
    if wanted and not isinstance(access, _OFFERED):
        raise ValueError(
            "A job endpoint has no gateway that could check tokens: leave it out, or use ApiKeys, "
            "Iam or OpenAccess."
        )
    if concurrency is not None and not wanted:
        raise ValueError(
            "job_endpoint_concurrency sets executions aside for a job endpoint: say "
            "job_endpoint=True, too."
        )
    return bool(wanted)


def warn_of_removal(backend: Construct, access: Access, *, throttles: bool) -> None:
    """Warn of a job endpoint that the upgrade to 0.2 removes, where nobody chose.

    Checkouts before 0.1.0 made one by default where a gateway was not needed.

    :param throttles: the gateway does; then those versions made none by default.
    """
    if isinstance(access, _OFFERED) and not throttles:
        Annotations.of(backend).add_warning_v2(WARNING, _REMOVED)


def _cors(origins: Sequence[str]) -> lambda_.FunctionUrlCorsOptions | None:
    if not origins:
        return None
    return lambda_.FunctionUrlCorsOptions(
        allowed_origins=list(origins),
        # Lambda answers preflights by itself, and refuses their method in this list.
        allowed_methods=[lambda_.HttpMethod(each) for each in CORS_METHODS if each != "OPTIONS"],
        allowed_headers=list(CORS_HEADERS),
        exposed_headers=list(CORS_EXPOSED),
        max_age=Duration.seconds(CORS_MAX_AGE_S),
    )
