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
)

MAX_LINES: Final = 64
"""The most lines of a queue."""

MAX_BATCH_JOBS: Final = 10_000
"""The largest batch that the settings can allow."""


class SettingsError(ValueError):
    """Reports a missing or unusable setting; the message names the variable."""


def _setting(default: object, parse: Callable[[str], object], doc: str) -> Any:
    """Return a dataclass field with its meaning and the parser of its environment variable."""
    return field(default=default, metadata={"parse": parse, "doc": doc})


def variable_of(name: str) -> str:
    """Return the environment variable of a setting: ``OJS_TABLE`` of ``table``."""
    return f"OJS_{name.upper()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Holds everything that can be configured. Durations carry their unit in the name.

    The variable of each is its name in capitals, behind ``OJS_``: ``OJS_TABLE`` of ``table``.
    """

    table: str = _setting("ojs", str, "Name of the DynamoDB table.")
    queue_prefix: str = _setting(
        "ojs",
        str,
        "Prefix of the SQS queue names, as the stack's output `QueuePrefix` has it; unless it ends "
        "in `__`, a `-` follows it.",
    )
    queue_url_prefix: str = _setting(
        "", str, "URL of an SQS queue up to its name, ending in a slash."
    )
    bucket: str = _setting(
        "", str, "S3 bucket for documents that do not fit into DynamoDB; empty: none."
    )
    event_bus: str = _setting(
        "", str, "EventBridge bus for lifecycle events; empty: event log only."
    )
    event_bus_types: tuple[str, ...] = _setting(
        (
            "!job.scheduled",
            "!job.enqueued",
            "!job.started",
            "!job.progress",
            "!job.retrying",
            "!*.heartbeat",
        ),
        names,
        "Event types for the bus, as patterns; `!` keeps types away, and `*` alone sends all. By "
        "default one event of each job goes there: its end.",
    )
    event_bus_type_prefix: str = _setting(
        "", str, "What event types begin with on the bus; `org.openjobspec.` for CloudEvents."
    )
    export_bucket: str = _setting("", str, "S3 bucket of the export of jobs that have ended.")
    export_documents: bool = _setting(False, boolean, "Export args, meta and results, too.")
    binding_targets: str = _setting(
        "", str, "Functions that queues may be bound to, as JSON; LambdaBindings sets it."
    )
    queues: tuple[str, ...] = _setting(
        ("default",), names, "Declared OJS queues, separated by commas."
    )
    allow_undeclared_queues: bool = _setting(True, boolean, "Create a queue on its first use.")
    max_undeclared_queues: int = _setting(
        1_000,
        integer(1, 100_000),
        "Most queues that may be created on their first use; the sweep reads each of them.",
    )
    wide_queues: tuple[tuple[str, int], ...] = _setting(
        (),
        numbers_by_name(2, MAX_LINES, "lines"),
        "Queues whose jobs may be spread over several lines, and how many: `mail=16`; a queue's "
        "setting `ordering_shards` spreads them (docs/wide-queues.md).",
    )
    max_envelope_bytes: int = _setting(
        1_048_576, integer(1024, 4_194_304), "Largest job envelope accepted, in bytes of JSON."
    )
    max_batch_jobs: int = _setting(
        5_000,
        integer(100, MAX_BATCH_JOBS),
        "Most jobs of one batch; its body must fit the gateway's limits, too.",
    )
    max_result_bytes: int = _setting(
        1_048_576, integer(0, 4_194_304), "Largest result accepted by ACK, in bytes of JSON."
    )
    max_depth: int = _setting(
        100, integer(8, 500), "Deepest nesting of arrays and objects accepted."
    )
    inline_limit_bytes: int = _setting(
        4096,
        integer(0, 65_536),
        "Documents larger than this (compressed) get an item of their own: transitions do not pay "
        "for them.",
    )
    inline_envelope_bytes: int = _setting(
        1400,
        integer(0, 65_536),
        "The same for envelopes, which three transitions would pay for; the smaller number counts.",
    )
    s3_threshold_bytes: int = _setting(
        8192,
        integer(1024, 380_000),
        "Documents larger than this (compressed) are kept in S3; without a bucket, documents of up "
        "to 300,000 bytes are kept in the table.",
    )
    default_timeout_s: int = _setting(1800, integer(1, 604_800), "Execution timeout of a job.")
    default_visibility_timeout_s: int = _setting(
        1800, integer(1, 43_200), "Reservation length when neither job nor request names one."
    )
    queue_visibility_timeouts_s: tuple[tuple[str, int], ...] = _setting(
        (),
        numbers_by_name(1, 43_200),
        "Reservation length of single queues: `media=7200,email=60`.",
    )
    queue_settings_age_ms: int = _setting(
        5000,
        integer(0, 300_000),
        "How long PUSH may use settings of a queue that it has read; 0: for one request only.",
    )
    stream_deletes_messages: bool = _setting(
        False,
        boolean,
        "ACK leaves the job's message to the function that reads the table's stream, which deletes "
        "ten in a call. The constructs switch it on; leave it off where nothing reads the stream.",
    )
    stream_lists_completed: bool = _setting(
        False,
        boolean,
        "ACK leaves it to the function that reads the table's stream to list the completed job, "
        "many in one write, which saves a write unit. The constructs switch it on; leave it off "
        "where nothing reads the stream.",
    )
    fetch_wait_ms: int = _setting(
        0,
        integer(0, 2000),
        "How long FETCH waits on empty queues. Waiting in Lambda costs more than asking again.",
    )
    result_wait_ms: int = _setting(
        0,
        integer(0, 25_000),
        "How long a request may wait for a result. Waiting in Lambda costs more than asking again.",
    )
    max_fetch_count: int = _setting(100, integer(1, 1000), "Most jobs one FETCH may claim.")
    completed_retention_s: int = _setting(
        7 * 86_400,
        integer(0, 10**9),
        "How long completed and cancelled jobs stay readable; 0: for ever.",
    )
    discarded_retention_s: int = _setting(
        30 * 86_400, integer(0, 10**9), "How long discarded jobs stay readable; 0: for ever."
    )
    dead_letter_retention_s: int = _setting(
        180 * 86_400,
        integer(0, 10**9),
        "How long dead letters stay: discarded jobs that their retry policy keeps; 0: for ever.",
    )
    dead_letter_max_count: int = _setting(
        10_000,
        integer(1, 1_000_000),
        "Dead letters kept per queue; beyond, the oldest are removed.",
    )
    dead_letter_replay: str = _setting(
        "", str, "JSON array of rules that enqueue dead letters again; empty: none."
    )
    event_retention_s: int = _setting(
        7 * 86_400, integer(60, 10**9), "How long the event log goes back."
    )
    redact_backtraces: bool = _setting(False, boolean, "Drop the backtraces of failures.")
    redact_messages: bool = _setting(
        False, boolean, "Keep only the type and code of failures, without message and details."
    )
    enqueue_middleware: str = _setting(
        "", str, "Dotted path of an EnqueueChain that PUSH runs before it stores a job."
    )
    hooks: str = _setting(
        "", str, "Dotted path of Hooks that the backend calls (docs/middleware.md)."
    )
    json_content_type: str = _setting(
        "auto", str, "Content-Type of answers: 'auto', 'ojs' or 'json' (see docs/clients.md)."
    )
    auth: str = _setting(
        "none",
        str,
        "How callers authenticate: 'none' (open), 'api-key', 'jwt', 'iam', or 'gateway' for an "
        "authorizer of your own (see docs/security.md).",
    )
    auth_cache_s: int = _setting(
        300,
        integer(0, 3600),
        "How long the job endpoint remembers what it found about an API key; 0: not at all.",
    )
    auth_scope_claim: str = _setting("scope", str, "The claim of a JWT that holds its scopes.")
    auth_scope_prefix: str = _setting("ojs:", str, "Prefix of the scopes that are meant for OJS.")
    iam_scopes: tuple[tuple[str, tuple[str, ...]], ...] = _setting(
        (),
        scopes_by_arn,
        "JSON object that gives scopes to the ARN of a principal, or to all ARNs with a prefix: "
        "`arn:aws:iam::1:role/*`; empty: IAM policies alone decide.",
    )
    public_status: bool = _setting(True, boolean, "Answer health and manifest without credentials.")
    cors_origins: tuple[str, ...] = _setting(
        (),
        names,
        "Origins whose pages may change something in an open deployment, or in one with an "
        "authorizer of your own; the stack's `cors_origins` sets it (docs/security.md).",
    )
    base_url: str = _setting(
        "", str, "Public URL of the API, for the manifest; empty: from the request."
    )
    client_rate_per_s: int = _setting(
        0,
        integer(0, 100_000),
        "Requests a second that a credential may make; 0: any number (docs/limits.md).",
    )
    client_burst: int = _setting(
        0,
        integer(0, 1_000_000),
        "Requests that a credential may make at once after a pause; 0: as many as in two seconds.",
    )
    require_tenant: bool = _setting(
        False,
        boolean,
        "Refuse jobs that name no tenant (docs/tenants.md).",
    )
    tenant_limits: str = _setting(
        "",
        json_object,
        'JSON object with limits for each tenant, such as `{"max_concurrency": 20}`; those that '
        "are set for a tenant count instead (docs/tenants.md).",
    )
    metrics_by_type: bool = _setting(
        False,
        boolean,
        "Publish the standard metrics by job type, too; CloudWatch bills each metric.",
    )
    metrics_by_tenant: bool = _setting(
        False,
        boolean,
        "Publish the standard metrics by tenant, too; CloudWatch bills each metric.",
    )
    tenant_gauges: int = _setting(
        20,
        integer(0, 1000),
        "Tenants with gauges of their own, where there are metrics by tenant: those with most "
        "jobs; 0: none (docs/monitoring.md).",
    )
    metrics_by_operation: bool = _setting(
        False,
        boolean,
        "Publish duration and errors of requests by operation, too; CloudWatch bills each metric.",
    )
    tracing: bool = _setting(
        False,
        boolean,
        "Trace the functions with AWS X-Ray; the stack's `tracing` sets it (docs/tracing.md).",
    )
    test_mode: bool = _setting(False, boolean, "Conformance test aids. The local server only.")

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
        (variable_of(spec.name), _as_text(spec.default), spec.metadata["doc"])
        for spec in fields(Settings)
    ]


def _as_text(value: object) -> str:
    """Return a default as the environment would contain it."""
    if isinstance(value, bool):
        return str(int(value))
    return ",".join(value) if isinstance(value, tuple) else str(value)


def settings_table() -> str:
    """Return the settings as a Markdown table."""
    rows = [
        f"| `{variable}` | {f'`{default}`' if default else 'empty'} | {meaning} |"
        for variable, default, meaning in describe_settings()
    ]
    return "\n".join(["| variable | default | meaning |", "|---|---|---|", *rows])
