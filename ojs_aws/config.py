"""Reads the settings once from the environment; they are frozen afterwards.

The names of the variables are the only thing that the infrastructure and the code share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from ojs_aws.environment import (
    boolean,
    integer,
    json_object,
    names,
    numbers_by_name,
    scopes_by_arn,
    text_of,
)

MAX_LINES: Final = 64
"""The most lines of a queue."""

MAX_BATCH_JOBS: Final = 10_000
"""The largest batch that the settings can allow."""


class SettingsError(ValueError):
    """Reports a missing or unusable setting; the message names the variable."""


def _setting(default: object, doc: str, parse: Callable[[str], object] | None = None) -> Any:
    """Return a dataclass field with its meaning and the parser of its environment variable.

    :param parse: by default a switch for a boolean, names for a tuple, else the text itself.
    """
    usual = _PARSERS.get(type(default), str)
    return field(default=default, metadata={"parse": parse or usual, "doc": doc})


_PARSERS: Final[Mapping[type, Callable[[str], object]]] = {bool: boolean, tuple: names}


def variable_of(name: str) -> str:
    """Return the environment variable of a setting: ``OJS_TABLE`` of ``table``."""
    return f"OJS_{name.upper()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Holds everything that can be configured. Durations carry their unit in the name.

    The variable of each is its name in capitals, behind ``OJS_``: ``OJS_TABLE`` of ``table``.
    """

    table: str = _setting("ojs", "Name of the DynamoDB table.")
    queue_prefix: str = _setting(
        "ojs",
        "Prefix of the SQS queue names, as the stack's output `QueuePrefix` has it; unless it ends "
        "in `__`, a `-` follows it.",
    )
    queue_url_prefix: str = _setting("", "URL of an SQS queue up to its name, ending in a slash.")
    bucket: str = _setting(
        "", "S3 bucket for documents that do not fit into DynamoDB; empty: none."
    )
    event_bus: str = _setting("", "EventBridge bus for lifecycle events; empty: event log only.")
    event_bus_types: tuple[str, ...] = _setting(
        names("!job.scheduled,!job.enqueued,!job.started,!job.progress,!job.retrying,!*.heartbeat"),
        "Event types for the bus, as patterns; `!` keeps types away, and `*` alone sends all. By "
        "default one event of each job goes there: its end.",
    )
    event_bus_type_prefix: str = _setting(
        "", "What event types begin with on the bus; `org.openjobspec.` for CloudEvents."
    )
    export_bucket: str = _setting("", "S3 bucket of the export of jobs that have ended.")
    export_documents: bool = _setting(False, "Export args, meta and results, too.")
    binding_targets: str = _setting(
        "", "Functions that queues may be bound to, as JSON; LambdaBindings sets it."
    )
    queues: tuple[str, ...] = _setting(("default",), "Declared OJS queues, separated by commas.")
    allow_undeclared_queues: bool = _setting(True, "Create a queue on its first use.")
    max_undeclared_queues: int = _setting(
        1_000,
        "Most queues that may be created on their first use; the sweep reads each of them.",
        integer(1, 100_000),
    )
    wide_queues: tuple[tuple[str, int], ...] = _setting(
        (),
        "Queues whose jobs may be spread over several lines, and how many: `mail=16`; a queue's "
        "setting `ordering_shards` spreads them (docs/wide-queues.md).",
        numbers_by_name(2, MAX_LINES, "lines"),
    )
    max_envelope_bytes: int = _setting(
        1_048_576, "Largest job envelope accepted, in bytes of JSON.", integer(1024, 4_194_304)
    )
    max_batch_jobs: int = _setting(
        5_000,
        "Most jobs of one batch; its body must fit the gateway's limits, too.",
        integer(100, MAX_BATCH_JOBS),
    )
    max_result_bytes: int = _setting(
        1_048_576, "Largest result accepted by ACK, in bytes of JSON.", integer(0, 4_194_304)
    )
    max_depth: int = _setting(
        100, "Deepest nesting of arrays and objects accepted.", integer(8, 500)
    )
    inline_limit_bytes: int = _setting(
        4096,
        "Documents larger than this (compressed) get an item of their own: transitions do not pay "
        "for them.",
        integer(0, 65_536),
    )
    inline_envelope_bytes: int = _setting(
        1400,
        "The same for envelopes, which three transitions would pay for; the smaller number counts.",
        integer(0, 65_536),
    )
    s3_threshold_bytes: int = _setting(
        8192,
        "Documents larger than this (compressed) are kept in S3; without a bucket, documents of up "
        "to 300,000 bytes are kept in the table.",
        integer(1024, 380_000),
    )
    default_timeout_s: int = _setting(1800, "Execution timeout of a job.", integer(1, 604_800))
    default_visibility_timeout_s: int = _setting(
        1800, "Reservation length when neither job nor request names one.", integer(1, 43_200)
    )
    queue_visibility_timeouts_s: tuple[tuple[str, int], ...] = _setting(
        (),
        "Reservation length of single queues: `media=7200,email=60`.",
        numbers_by_name(1, 43_200),
    )
    queue_settings_age_ms: int = _setting(
        5000,
        "How long PUSH may use settings of a queue that it has read; 0: for one request only.",
        integer(0, 300_000),
    )
    stream_deletes_messages: bool = _setting(
        False,
        "ACK leaves the job's message to the function that reads the table's stream, which deletes "
        "ten in a call. The constructs switch it on; leave it off where nothing reads the stream.",
    )
    stream_lists_completed: bool = _setting(
        False,
        "ACK leaves it to the function that reads the table's stream to list the completed job, "
        "many in one write, which saves a write unit. The constructs switch it on; leave it off "
        "where nothing reads the stream.",
    )
    fetch_wait_ms: int = _setting(
        0,
        "How long FETCH waits on empty queues. Waiting in Lambda costs more than asking again.",
        integer(0, 2000),
    )
    result_wait_ms: int = _setting(
        0,
        "How long a request may wait for a result. Waiting in Lambda costs more than asking again.",
        integer(0, 25_000),
    )
    max_fetch_count: int = _setting(100, "Most jobs one FETCH may claim.", integer(1, 1000))
    completed_retention_s: int = _setting(
        7 * 86_400,
        "How long completed and cancelled jobs stay readable; 0: for ever.",
        integer(0, 10**9),
    )
    discarded_retention_s: int = _setting(
        30 * 86_400, "How long discarded jobs stay readable; 0: for ever.", integer(0, 10**9)
    )
    dead_letter_retention_s: int = _setting(
        180 * 86_400,
        "How long dead letters stay: discarded jobs that their retry policy keeps; 0: for ever.",
        integer(0, 10**9),
    )
    dead_letter_max_count: int = _setting(
        10_000,
        "Dead letters kept per queue; beyond, the oldest are removed.",
        integer(1, 1_000_000),
    )
    dead_letter_replay: str = _setting(
        "", "JSON array of rules that enqueue dead letters again; empty: none."
    )
    event_retention_s: int = _setting(
        7 * 86_400, "How long the event log goes back.", integer(60, 10**9)
    )
    redact_backtraces: bool = _setting(False, "Drop the backtraces of failures.")
    redact_messages: bool = _setting(
        False, "Keep only the type and code of failures, without message and details."
    )
    enqueue_middleware: str = _setting(
        "", "Dotted path of an EnqueueChain that PUSH runs before it stores a job."
    )
    hooks: str = _setting("", "Dotted path of Hooks that the backend calls (docs/middleware.md).")
    json_content_type: str = _setting(
        "auto", "Content-Type of answers: 'auto', 'ojs' or 'json' (see docs/clients.md)."
    )
    auth: str = _setting(
        "none",
        "How callers authenticate: 'none' (open), 'api-key', 'jwt', 'iam', or 'gateway' for an "
        "authorizer of your own (see docs/security.md).",
    )
    auth_cache_s: int = _setting(
        300,
        "How long the job endpoint remembers what it found about an API key; 0: not at all.",
        integer(0, 3600),
    )
    auth_scope_claim: str = _setting("scope", "The claim of a JWT that holds its scopes.")
    auth_scope_prefix: str = _setting("ojs:", "Prefix of the scopes that are meant for OJS.")
    iam_scopes: tuple[tuple[str, tuple[str, ...]], ...] = _setting(
        (),
        "JSON object that gives scopes to the ARN of a principal, or to all ARNs with a prefix: "
        "`arn:aws:iam::1:role/*`; empty: IAM policies alone decide.",
        scopes_by_arn,
    )
    public_status: bool = _setting(True, "Answer health and manifest without credentials.")
    cors_origins: tuple[str, ...] = _setting(
        (),
        "Origins whose pages may change something in an open deployment, or in one with an "
        "authorizer of your own; the stack's `cors_origins` sets it (docs/security.md).",
    )
    base_url: str = _setting(
        "", "Public URL of the API, for the manifest; empty: from the request."
    )
    client_rate_per_s: int = _setting(
        0,
        "Requests a second that a credential may make; 0: any number (docs/limits.md).",
        integer(0, 100_000),
    )
    client_burst: int = _setting(
        0,
        "Requests that a credential may make at once after a pause; 0: as many as in two seconds.",
        integer(0, 1_000_000),
    )
    require_tenant: bool = _setting(False, "Refuse jobs that name no tenant (docs/tenants.md).")
    tenant_limits: str = _setting(
        "",
        'JSON object with limits for each tenant, such as `{"max_concurrency": 20}`; those that '
        "are set for a tenant count instead (docs/tenants.md).",
        json_object,
    )
    metrics_by_type: bool = _setting(
        False, "Publish the standard metrics by job type, too; CloudWatch bills each metric."
    )
    metrics_by_tenant: bool = _setting(
        False, "Publish the standard metrics by tenant, too; CloudWatch bills each metric."
    )
    tenant_gauges: int = _setting(
        20,
        "Tenants with gauges of their own, where there are metrics by tenant: those with most "
        "jobs; 0: none (docs/monitoring.md).",
        integer(0, 1000),
    )
    metrics_by_operation: bool = _setting(
        False,
        "Publish duration and errors of requests by operation, too; CloudWatch bills each metric.",
    )
    tracing: bool = _setting(
        False,
        "Trace the functions with AWS X-Ray; the stack's `tracing` sets it (docs/tracing.md).",
    )
    test_mode: bool = _setting(False, "Conformance test aids. The local server only.")

    def __post_init__(self) -> None:
        """Refuse combinations that cannot work."""
        if self.json_content_type not in {"auto", "ojs", "json"}:
            raise SettingsError(
                f"OJS_JSON_CONTENT_TYPE is {self.json_content_type!r}: use auto, ojs or json."
            )
        if self.auth not in {"none", "api-key", "jwt", "iam", "gateway"}:
            raise SettingsError(f"OJS_AUTH is {self.auth!r}: use none, api-key, jwt, iam, gateway.")

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Settings:
        """Read the settings; variables that are not set keep their default.

        :raises SettingsError: a value cannot be parsed, is out of range, or test aids are
            switched on inside AWS Lambda.
        """
        values: dict[str, Any] = {}
        for spec in fields(cls):
            variable = variable_of(spec.name)
            if variable not in environ:
                continue
            try:
                values[spec.name] = spec.metadata["parse"](environ[variable])
            except ValueError as problem:
                raise SettingsError(f"{variable} is {environ[variable]!r}: {problem}.") from problem
        settings = cls(**values)
        if settings.test_mode and "AWS_EXECUTION_ENV" in environ:
            raise SettingsError("OJS_TEST_MODE is for the local server and refused in AWS Lambda.")
        return settings


def describe_settings() -> list[tuple[str, str, str]]:
    """Return variable, default and meaning of each setting, for ``--help`` and the docs."""
    return [
        (variable_of(spec.name), text_of(spec.default), spec.metadata["doc"])
        for spec in fields(Settings)
    ]
