"""Defines what has a URL beside the operations of the API: the job endpoint, and the dashboard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from aws_cdk import Annotations, Duration, Stack
from aws_cdk import aws_apigatewayv2 as gateway
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from ojs_aws.account_limits import NO_FUNCTION_URLS, NO_URL_HINT
from ojs_aws.cdk.api.access import Access, ApiKeys, Iam, OpenAccess, sign_in_of
from ojs_aws.cdk.bundle import page_bundle
from ojs_aws.cdk.job_backend_props import JobBackendProps
from ojs_aws.cdk.monitoring.alarms import alarm
from ojs_aws.cdk.ojs_function import OjsFunction, OjsFunctionProps
from ojs_aws.cdk.storage import accept
from ojs_aws.dashboard.page_function import ENVIRONMENT, SIGN_IN
from ojs_aws.transport.http.routes import CORS_EXPOSED, CORS_HEADERS, CORS_MAX_AGE_S, CORS_METHODS

_OFFERED: Final = (ApiKeys, Iam, OpenAccess)
"""The kinds of access that need no gateway: the function or IAM checks who calls."""

JOB_ENDPOINT_WARNING: Final = "ojs:job-endpoint"
"""What acknowledges the warning that an upgrade removes a job endpoint."""

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


def make_job_endpoint(
    backend: Construct, props: JobBackendProps, make: Callable[[], OjsFunction]
) -> JobEndpoint | None:
    """Define the job endpoint of a backend, if its props ask for one; else return None.

    Checkouts before 0.1.0 made one by default where a gateway was not needed, neither to check who
    calls nor to throttle. Where nobody chose, it warns that the upgrade to 0.2 removes it.

    :param make: makes its function.
    :raises ValueError: it is wanted where only a gateway can check who calls, or executions are set
        aside for one that is not wanted.
    """
    wanted, is_offered = props.job_endpoint, isinstance(props.access, _OFFERED)
    if wanted is None and is_offered and props.rate_limit_per_s is None:
        Annotations.of(backend).add_warning_v2(JOB_ENDPOINT_WARNING, _REMOVED)
    if wanted and not is_offered:
        raise ValueError(
            "A job endpoint has no gateway that could check tokens: leave it out, or use ApiKeys, "
            "Iam or OpenAccess."
        )
    if props.job_endpoint_concurrency is not None and not wanted:
        raise ValueError(
            "job_endpoint_concurrency sets executions aside for a job endpoint: say "
            "job_endpoint=True, too."
        )
    if not wanted:
        return None
    endpoint = JobEndpointProps(
        function=make(), access=props.access, cors_origins=props.cors_origins
    )
    return JobEndpoint(backend, "JobUrl", endpoint)


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


PAGE_PATHS: Final = ("/", "/LICENSES.txt", "/assets/{file}")
"""Where the page's files are. No operation has such a path."""


class DashboardPage(Construct):
    """Serve the page for operators to everybody, by a function that may do nothing else.

    The files are public: what they show comes from the API, which asks for credentials. The
    function has no right but to write its log, and its code is the page without the backend.

    :ivar function: what serves the files.
    """

    def __init__(
        self, scope: Construct, id_: str, api: gateway.HttpApi, props: JobBackendProps
    ) -> None:
        """Define the function, and its routes of the API."""
        super().__init__(scope, id_)
        name = props.web_dashboard_environment
        known = {ENVIRONMENT: name} if name else {}
        if props.web_dashboard_sign_in:
            sign_in = sign_in_of(props.web_dashboard_sign_in, props.access, has_page=True)
            # The issuer may be made in the same app: its URL is known when it is deployed.
            known[SIGN_IN] = Stack.of(self).to_json_string(asdict(sign_in))
        self.function = OjsFunction(
            self,
            "Function",
            OjsFunctionProps(
                handler="dashboard.page_function.handler",
                bundle=page_bundle(props.target),
                description="Open Job Spec: Serves the dashboard's page",
                service="ojs-page",
                environment=known,
                memory_mb=256,
                timeout_s=5,
                log_retention=props.log_retention,
                log_level=props.log_level,
            ),
        )
        answered = integrations.HttpLambdaIntegration(
            "page", self.function.live, scope_permission_to_route=False
        )
        for path in PAGE_PATHS:
            for route in api.add_routes(
                path=path,
                methods=[gateway.HttpMethod.GET, gateway.HttpMethod.HEAD],
                integration=answered,
                authorizer=gateway.HttpNoneAuthorizer(),
            ):
                accept(
                    route,
                    "AwsSolutions-APIG4",
                    "The page's files are the same for everybody and show nothing of jobs; "
                    "has_web_dashboard=False leaves them out.",
                )
