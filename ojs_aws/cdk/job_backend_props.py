"""Lists the choices of whoever deploys a backend, its extensions among them, and checks them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_events as events
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns

from ojs_aws.cdk.api.access import Access, ApiKeys, OidcSignIn, sign_in_of
from ojs_aws.cdk.bundle import BACKEND_SERVICES, Bundle, Target, default_target
from ojs_aws.cdk.function_options import WarmStart
from ojs_aws.cdk.job_export import ExportOptions
from ojs_aws.cdk.job_table import RestoredTable
from ojs_aws.config import Settings, describe_settings, variable_of
from ojs_aws.topology import DEFAULT_QUEUE, QUEUE_SEPARATOR

if TYPE_CHECKING:
    from aws_cdk import aws_ecs as ecs  # takes seconds to import

_ENQUEUES: Final = frozenset({"producer", "job_endpoint", "operator", "tick", "event_jobs"})
"""The functions that enqueue jobs: for clients, by a trigger of a cron job, by cron, for events."""
_CALLS_HOOKS: Final = _ENQUEUES | {"stream"}
"""The functions that call hooks: at insertion, at the start of cron, and with events."""
_WIDE: Final = variable_of("wide_queues")


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendExtensions:
    """Name code that a function loads once, when it starts; it does not start without it.

    Example::

        BackendExtensions(
            code_dir=Path("backend_extensions"),       # holds policies.py, requirements.txt
            enqueue_middleware="policies:chain",       # an EnqueueChain
            hooks="policies:hooks",                    # Hooks
        )

    :ivar code_dir: folder of the modules; a ``requirements.txt`` in it is installed too, within the
        versions of the backend's own packages.
    :ivar enqueue_middleware: ``module:attribute`` of the EnqueueChain that PUSH runs; empty for the
        default chain.
    :ivar hooks: ``module:attribute`` of the Hooks; empty for none.
    :ivar aws_services: AWS services, by botocore's names, that this code uses beside DynamoDB, SQS,
        S3 and EventBridge. Grant the functions what it needs of them.
    """

    code_dir: Path
    enqueue_middleware: str = ""
    hooks: str = ""
    aws_services: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Refuse at synthesis what a function would refuse at its start.

        :raises ValueError: nothing is named, or a module that the folder does not have.
        """
        if not self.enqueue_middleware and not self.hooks:
            raise ValueError("Name enqueue_middleware or hooks: nothing else would be loaded.")
        for path in filter(None, (self.enqueue_middleware, self.hooks)):
            module = self.code_dir.joinpath(*path.partition(":")[0].split("."))
            if not module.with_suffix(".py").is_file() and not (module / "__init__.py").is_file():
                raise ValueError(f"{path!r} names no module in {self.code_dir}.")

    def bundled_with(self, bundle: Bundle, function: str) -> Bundle:
        """Return a function's bundle, with this code where the function loads it."""
        if function not in self._used_by():
            return bundle
        services = tuple(sorted({*BACKEND_SERVICES, *self.aws_services}))
        return replace(bundle, code_dir=self.code_dir, botocore_services=services)

    def environment(self, function: str) -> Mapping[str, str]:
        """Return the settings by which a function loads this code."""
        settings = {
            "OJS_ENQUEUE_MIDDLEWARE": self.enqueue_middleware if function in _ENQUEUES else "",
            "OJS_HOOKS": self.hooks if function in _CALLS_HOOKS else "",
        }
        return {name: value for name, value in settings.items() if value}

    def _used_by(self) -> frozenset[str]:
        enqueuing = _ENQUEUES if self.enqueue_middleware else frozenset()
        return enqueuing | (_CALLS_HOOKS if self.hooks else frozenset())


@dataclass(frozen=True, slots=True, kw_only=True)
class JobBackendProps:
    """Say what the backend is like; the defaults make one that is ready for production.

    :ivar queue_prefix: begins the name of each SQS queue; unique in an account and region.
    :ivar queue_separator: stands between prefix and queue in those names. ``-`` for deployments
        that were made with it (docs/upgrades.md).
    :ivar queues: the OJS queues that exist from the beginning. Lambda workers serve only these.
    :ivar adopted_queues: those of them whose SQS queues were made at their first use, before they
        were declared.
    :ivar allow_undeclared_queues: make a queue at its first use. When this is off, the functions
        may touch the declared queues only.
    :ivar ordering_shards: queues that may be wide, and the most lines that the setting
        ``ordering_shards`` of each may spread its jobs over, 2 to 64 (docs/wide-queues.md). All
        functions and Lambda workers get them.
    :ivar settings: more settings of ``ojs_aws.config``, by the names of their variables, but for
        those that the construct sets itself.
    :ivar extensions: enqueue middleware and hooks of your own, with the code they are in.
    :ivar target: architecture and Python version of the functions. By default arm64 and Python
        3.13; this machine's own while ``AWS_ENDPOINT_URL`` is set, which names an emulator.
    :ivar access: who may call the API; by default those with API keys.
    :ivar report_secrets: what signs deliveries, as ``ecs.Secret.from_secrets_manager(secret)``: the
        API accepts the reports of endpoints that answer 202, by the tokens of their deliveries.
        Where access is open, it does so without them.
    :ivar public_status: answer health and manifest without credentials.
    :ivar cors_origins: origins whose pages may use the API; none by default, and ``*`` never.
    :ivar rate_limit_per_s: requests a second before the gateway answers 429; None takes the
        account's limit.
    :ivar burst_limit: requests at a moment, where there is a rate; None: twice the rate.
    :ivar access_log: keep a line of each request at the gateway, its own refusals included.
    :ivar job_endpoint: give senders and workers a public function URL beside the API, whose
        requests cost nothing, and which nothing of the gateway protects: no WAF, domain or
        ``rate_limit_per_s``. None: no, with a warning where earlier versions made one unasked.
    :ivar job_endpoint_concurrency: executions that are set aside for that URL, and the most it may
        have; ten times as many requests a second get through. None: what the account has.
    :ivar encryption_key: a KMS key of your own for the table and the bucket; None: AWS's.
    :ivar has_aws_owned_key: encrypt the table under a key that AWS owns: its use is free, and no
        log of yours shows it. Else the account's key for DynamoDB, which costs up to $0.30 a month.
    :ivar deletion_protection: refuse to delete the table; None: unless it goes with the stack.
    :ivar restored_table: a table restored from a backup, in the place of one of its own.
    :ivar warm_throughput: units a second that a new table takes at once, for a load that is large
        from the first day; AWS bills it once, and never lowers it. None: 4,000 written, 12,000
        read.
    :ivar index_warm_throughput: the same of the index, which takes more writes than the table.
    :ivar document_backup_days: how long deleted documents can be brought back, at the price of
        keeping them; 0: not. None: as long as the table, unless all goes with the stack.
    :ivar export: write jobs that have ended to S3; None: not.
    :ivar event_bus: the bus for lifecycle events; None makes one.
    :ivar stream_parallelization_factor: invocations of the stream function at a time for each
        shard, 1 to 10. With 1 a new table, which has four shards, publishes some 1,650 jobs a
        second (docs/capacity.md): choose more before a larger load. It costs more where changes are
        rare, because each invocation gathers fewer of them.
    :ivar stream_batching_window_s: how long changes are gathered for one invocation, 0 to 300:
        events cost less at low rates; they and the next steps of workflows come later by that.
    :ivar memory_mb: memory of the API's functions.
    :ivar start: how the API's functions are made ready before they are asked; None: not.
    :ivar tracing: trace the functions with AWS X-Ray, which bills traces and makes starts slower.
    :ivar log_retention: how long logs are kept.
    :ivar log_level: least level that the functions log.
    :ivar removal_policy: what becomes of the table and the buckets when the stack goes. ``DESTROY``
        takes along what is in them, and the SQS queues that were made at their first use.
    :ivar alarm_topic: is notified when an alarm rings, and when it is over; None: nobody is.
    :ivar queue_alarms: declared queues that have alarms of their own, beside those for all jobs.
    :ivar old_job_minutes: how long a job may be available before an alarm rings.
    :ivar concurrency_alarm: concurrent executions of the account's functions at which to ring.
    :ivar has_web_dashboard: serve the page for operators at the API's URL, to everybody; it asks
        for a key or token, and has no rights of its own.
    :ivar web_dashboard_sign_in: the issuer where operators sign in to that page; None: they paste
        a key or token.
    :ivar web_dashboard_environment: what that page calls the environment, such as ``prod``,
        ``staging`` or ``dev``, which choose its colour; empty: what the host's name says.
    :ivar has_dashboard: make a CloudWatch dashboard, which costs $3 a month.
    :ivar output_prefix: begins the names of the stack's outputs; None: the id of the construct,
        as in ``BackendApiUrl``.
    """

    queue_prefix: str = "ojs"
    queue_separator: str = QUEUE_SEPARATOR
    queues: Sequence[str] = (DEFAULT_QUEUE,)
    adopted_queues: Sequence[str] = ()
    allow_undeclared_queues: bool = True
    ordering_shards: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    extensions: BackendExtensions | None = None
    target: Target = field(default_factory=default_target)
    access: Access = field(default_factory=ApiKeys)
    report_secrets: Sequence[ecs.Secret] = ()
    public_status: bool = True
    cors_origins: Sequence[str] = ()
    rate_limit_per_s: int | None = None
    burst_limit: int | None = None
    access_log: bool = True
    job_endpoint: bool | None = None
    job_endpoint_concurrency: int | None = None
    encryption_key: kms.IKey | None = None
    has_aws_owned_key: bool = False
    deletion_protection: bool | None = None
    restored_table: RestoredTable | None = None
    warm_throughput: dynamodb.WarmThroughput | None = None
    index_warm_throughput: dynamodb.WarmThroughput | None = None
    document_backup_days: int | None = None
    export: ExportOptions | None = None
    event_bus: events.IEventBus | None = None
    stream_parallelization_factor: int = 1
    stream_batching_window_s: int = 1
    memory_mb: int = 512
    start: WarmStart | None = None
    tracing: bool = False
    log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH
    log_level: str = "INFO"
    removal_policy: RemovalPolicy = RemovalPolicy.RETAIN
    alarm_topic: sns.ITopic | None = None
    queue_alarms: Sequence[str] = ()
    old_job_minutes: int = 15
    concurrency_alarm: int = 800
    has_web_dashboard: bool = False
    web_dashboard_sign_in: OidcSignIn | None = None
    web_dashboard_environment: str = ""
    has_dashboard: bool = False
    output_prefix: str | None = None


def check_choices(props: JobBackendProps) -> None:
    """Refuse choices that do not go together.

    :raises ValueError: alarms of undeclared queues, which may have no metrics of their own, so they
        could never ring; secrets of tokens where the API checks none; or an unusable sign-in.
    """
    if undeclared := sorted({*props.queue_alarms} - {*props.queues}):
        raise ValueError(f"Declare the queues of queue_alarms, too: {', '.join(undeclared)}.")
    if props.report_secrets and not isinstance(props.access, ApiKeys):
        raise ValueError("report_secrets need access=ApiKeys(): the API checks no tokens else.")
    if (chosen := props.web_dashboard_sign_in) is not None:
        sign_in_of(chosen, props.access, has_page=props.has_web_dashboard)


def settings_of(props: JobBackendProps) -> dict[str, str]:
    """Return the settings by their variables, with those that follow from the wide queues.

    :raises ValueError: a wide queue that cannot exist, or wide queues in the settings, too.
    """
    settings = {**props.settings}
    if not props.ordering_shards:
        return settings
    if _WIDE in settings:
        raise ValueError(f"Name wide queues in ordering_shards or in {_WIDE}, not in both.")
    undeclared = sorted({*props.ordering_shards} - {*props.queues})
    if undeclared and not props.allow_undeclared_queues:
        raise ValueError(f"Declare the queues of ordering_shards, too: {', '.join(undeclared)}.")
    lines = sorted(props.ordering_shards.items())
    return {**settings, _WIDE: ",".join(f"{queue}={number}" for queue, number in lines)}


def settings_with(settings: Mapping[str, str], own: Mapping[str, str]) -> dict[str, str]:
    """Return the settings with those that a construct sets itself.

    :raises ValueError: one of these was to be set otherwise, which would do nothing.
    """
    if both := sorted({*settings} & {*own}):
        raise ValueError(f"Leave {', '.join(both)} out of settings: other properties decide on it.")
    return {**settings, **own}


def check_settings(settings: Mapping[str, str]) -> Settings:
    """Refuse at synthesis what the functions would refuse at their start; return what they read.

    :raises ValueError: a setting that there is not, or that cannot be used.
    """
    unknown = sorted(set(settings) - {variable for variable, _, _ in describe_settings()})
    if unknown:
        raise ValueError(f"There is no setting {', '.join(unknown)}.")
    return Settings.from_env({**settings, "AWS_EXECUTION_ENV": "AWS_Lambda_python"})
