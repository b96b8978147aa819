"""Makes the backend's own functions: what each is for, may do, and how long it may run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from aws_cdk import aws_iam as iam
from constructs import Construct

from ojs_aws.cdk.api.access import ApiKeys
from ojs_aws.cdk.bundle import backend_bundle, with_services
from ojs_aws.cdk.function_options import WarmStart, secret_services, secrets_environment
from ojs_aws.cdk.job_backend_props import JobBackendProps, settings_with
from ojs_aws.cdk.job_export import ExportOptions
from ojs_aws.cdk.ojs_function import OjsFunction, OjsFunctionProps
from ojs_aws.cdk.permissions import (
    API_KEYS,
    AUTHORIZER,
    EXPORT,
    EXPORT_DOCUMENTS,
    JOB_ENDPOINT,
    JOB_ENDPOINT_WITH_KEYS,
    OPERATOR,
    PRODUCER,
    STREAM,
    SYSTEM,
    TICK,
    WORKER_API,
    Permissions,
)
from ojs_aws.topology import SIGNING_SECRET
from ojs_aws.transport.http.routes import Group

if TYPE_CHECKING:
    from aws_cdk import aws_ecs as ecs  # takes seconds to import

_FINDS_CALLERS: Final = frozenset({"authorizer", "job_endpoint"})
TICK_TIMEOUT_S: Final = 55


@dataclass(frozen=True, slots=True)
class BackendFunctions:
    """Makes each function of a backend, with the rights of its boundary of trust.

    :ivar backend: the construct that they belong to.
    :ivar props: what the backend is like.
    :ivar environment: the settings of all of them.
    :ivar grant: gives a function its rights to the backend.
    """

    backend: Construct
    props: JobBackendProps
    environment: Mapping[str, str]
    grant: Callable[[iam.IGrantable, Permissions], None]

    def api(self) -> dict[Group, OjsFunction]:
        """Make the functions behind the HTTP API, by their groups.

        That of API keys has no snapshot: hardly anybody calls it.
        """
        api_functions = {
            Group.PRODUCER: (PRODUCER, "Enqueues, reads and cancels jobs"),
            Group.WORKER_API: (WORKER_API, "Gives jobs to workers and takes their outcomes"),
            Group.OPERATOR: (OPERATOR, "Queues, cron jobs, dead letters and events"),
            Group.SYSTEM: (SYSTEM, "Manifest, health, OpenAPI and unknown routes"),
        }
        if isinstance(self.props.access, ApiKeys):
            api_functions[Group.API_KEYS] = (API_KEYS, "Lists and revokes API keys")
        return {
            group: self._make(
                group.value,
                permissions,
                description,
                start=None if group is Group.API_KEYS else self.props.start,
            )
            for group, (permissions, description) in api_functions.items()
        }

    def job_endpoint(self) -> OjsFunction:
        """Make the function that serves senders and workers without the HTTP API."""
        has_keys = isinstance(self.props.access, ApiKeys)
        return self._make(
            "job_endpoint",
            JOB_ENDPOINT_WITH_KEYS if has_keys else JOB_ENDPOINT,
            "Serves senders and workers at a URL of its own",
            start=self.props.start,
            reserved_concurrency=self.props.job_endpoint_concurrency,
        )

    def authorizer(self) -> OjsFunction:
        """Make the function that finds callers by their API keys."""
        return self._make(
            "authorizer", AUTHORIZER, "Finds callers by their API keys", 10, self.props.start
        )

    def tick(self) -> OjsFunction:
        """Make the function of the sweep and of cron jobs."""
        return self._make(
            "tick",
            TICK,
            "Sweeps jobs that time has overtaken, and fires cron jobs",
            TICK_TIMEOUT_S,
            loops=True,  # a cron job that fires sets its next alarm
        )

    def stream(self) -> OjsFunction:
        """Make the function that reads the table's changes."""
        return self._make("stream", STREAM, "Turns changes into events", 60)

    def export(self, options: ExportOptions) -> OjsFunction:
        """Make the function that writes jobs that have ended to S3."""
        permissions = EXPORT_DOCUMENTS if options.documents else EXPORT
        return self._make("export", permissions, "Writes ended jobs to S3", 60)

    def _make(
        self,
        name: str,
        permissions: Permissions,
        description: str,
        timeout_s: int = 25,
        start: WarmStart | None = None,
        *,
        loops: bool = False,
        reserved_concurrency: int | None = None,
    ) -> OjsFunction:
        """Make the function of the entry point ``functions/<name>/handler.py``."""
        tracing = self.props.tracing
        bundle, environment = backend_bundle(self.props.target, tracing=tracing), self.environment
        if self.props.extensions is not None:
            bundle = self.props.extensions.bundled_with(bundle, name)
            environment = {**environment, **self.props.extensions.environment(name)}
        secrets = self._report_secrets() if name in _FINDS_CALLERS else {}
        bundle = with_services(bundle, secret_services(self.backend, secrets))
        function = OjsFunction(
            self.backend,
            "".join(part.capitalize() for part in name.split("_")),
            OjsFunctionProps(
                handler=f"functions.{name}.handler.handler",
                bundle=bundle,
                description=f"Open Job Spec: {description}",
                service=f"ojs-{name.replace('_', '-')}",
                environment={
                    **settings_with(environment, self._access_settings()),
                    **secrets_environment(self.backend, secrets),
                },
                memory_mb=self.props.memory_mb,
                timeout_s=timeout_s,
                log_retention=self.props.log_retention,
                log_level=self.props.log_level,
                start=start,
                tracing=tracing,
                loops=loops,
                reserved_concurrency=reserved_concurrency,
            ),
        )
        self.grant(function, permissions)
        for secret in secrets.values():
            secret.grant_read(function)
        return function

    def _report_secrets(self) -> dict[str, ecs.Secret]:
        """Return the secrets of tokens by names, each with a number of its own."""
        named = enumerate(self.props.report_secrets, 1)
        return {f"{SIGNING_SECRET}_{number}": each for number, each in named}

    def _access_settings(self) -> dict[str, str]:
        """Return the settings that say who may call the API."""
        is_public = "1" if self.props.public_status else "0"
        origins = ",".join(self.props.cors_origins)
        return {
            **self.props.access.settings,
            "OJS_PUBLIC_STATUS": is_public,
            **({"OJS_CORS_ORIGINS": origins} if origins else {}),
        }
