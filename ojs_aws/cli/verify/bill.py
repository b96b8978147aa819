"""Compares what CloudWatch measured of the load with the calculator, and estimates a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from ojs_aws.adapters.evidence import Metric
from ojs_aws.cli.verify.scales import LAMBDA_QUEUE, POLLED_QUEUE, USED, Loaded, Phase, Scale
from ojs_aws.cli.verify.site import WORKER, Assertion, NotSoError, Site, demand
from ojs_aws.pricing import MONTH_S, PRICES, Workload, estimate
from ojs_aws.pricing.estimate import FEW
from ojs_aws.pricing.units import deleted_together, jobs_together
from ojs_aws.topology import TABLE, cron_queue_name, sqs_queue_name

TOLERANCE: Final = 0.15
"""By which share a line may be off."""
GB: Final = 1_000_000_000
MINUTE: Final = 60
SIZE_BYTES: Final = 512
RUN_S: Final = 45 * MINUTE
"""How long a run may take, its teardown aside."""
OTHER_DOLLARS: Final = 0.10
"""What a run costs beside its load and its standing costs: some hundreds of requests, the metrics
of an hour, and reading the events."""

LINES: Final[Mapping[str, str]] = {
    "write unit": "table and index, written",
    "read unit": "table and index, read",
    "SQS request": "messages",
    "Lambda request": "invocations",
    "Lambda GB-second": "functions, run",
    "HTTP API request": "API, requests",
    "log GB": "logs",
    "bus event": "event bus",
    "KMS request": "table's key",
}
"""The units of the calculator that CloudWatch has a metric for."""
OF_THE_ACCOUNT: Final = frozenset({"bus event", "KMS request"})
"""Those whose metrics are of the account, or of a key that others use, too: shown, not judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Holds a line of both: how many units the calculator expects, and how many were measured."""

    unit: str
    expected: float
    measured: float

    @property
    def off(self) -> float:
        """Return the share by which the measurement differs."""
        return abs(self.measured - self.expected) / self.expected if self.expected else 0.0

    @property
    def is_judged(self) -> bool:
        """Return whether the deployment alone is measured."""
        return self.unit not in OF_THE_ACCOUNT

    def __str__(self) -> str:
        """Describe it as people read it."""
        text = f"{LINES[self.unit]}: {self.measured:,.4g} measured, {self.expected:,.4g} expected"
        return text if self.is_judged else f"{text} (not only of this deployment)"


def workloads(phase: Phase, *, retried: float = 0.0, empty: float = 0.0) -> list[Workload]:
    """Return what a phase is to the calculator: its polled jobs, and those of Lambda workers.

    :param retried: failed attempts for each polled job.
    :param empty: polls that found nothing.
    """
    polled = phase.jobs * phase.polled
    usual = Workload(
        jobs=phase.jobs - polled, rate=phase.rate, size_bytes=SIZE_BYTES, queues=len(USED)
    )
    http = replace(
        usual, jobs=polled, uses_http_workers=True, failure_rate=retried, empty_polls=empty
    )
    return [each for each in (usual, http) if each.jobs]


def units_of(workload: Workload) -> Counter[str]:
    """Return the units of a workload's jobs, by their names, without what a month costs anyhow."""
    return _sum(workload, 1.0) - _sum(replace(workload, jobs=FEW, empty_polls=0), 1.0)


def standing_units(seconds: float) -> Counter[str]:
    """Return the units that pass by themselves in so many seconds, in a deployment in use."""
    return _sum(Workload(jobs=FEW, queues=len(USED), rate=1.0), seconds / MONTH_S)


def _sum(workload: Workload, share: float) -> Counter[str]:
    found: Counter[str] = Counter()
    for line in estimate(workload):
        found[line.unit] += line.amount * share  # type: ignore[assignment]
    return found


def expected(loaded: Loaded) -> Counter[str]:
    """Return the units that the calculator expects of a load."""
    polled = sum(phase.jobs * phase.polled for phase in loaded.phases)
    total = standing_units(_window(loaded)[1] - _window(loaded)[0])
    for phase in loaded.phases:
        share = phase.jobs * phase.polled / polled if polled else 0.0
        retried = len(loaded.killed) / polled if polled else 0.0
        for each in workloads(phase, retried=retried, empty=loaded.empty_polls * share):
            total.update(units_of(each))
    return total


def dollars(scale: Scale) -> float:
    """Return what a run costs at most, by the calculator."""
    total = standing_units(RUN_S)
    for phase in scale.phases:
        for each in workloads(phase):
            total.update(units_of(each))
    return OTHER_DOLLARS + sum(amount * PRICES[unit] for unit, amount in total.items())


def _window(loaded: Loaded) -> tuple[float, float]:
    """Return the whole minutes of a load: CloudWatch knows no others."""
    return loaded.since // MINUTE * MINUTE, (loaded.until // MINUTE + 1) * MINUTE


def measured(site: Site, loaded: Loaded) -> Counter[str]:
    """Return the units that CloudWatch has counted of a load."""
    since, until = _window(loaded)

    def total(namespace: str, name: str, **dimensions: str) -> float:
        metric = Metric(namespace=namespace, name=name, dimensions=dimensions)
        return site.evidence.total(metric, since, until)

    found: Counter[str] = Counter()

    def add(unit: str, amount: float) -> None:
        found[unit] += amount  # type: ignore[assignment]

    table = site.outputs["TableName"]
    for unit, name in (("write unit", "Write"), ("read unit", "Read")):
        consumed = f"Consumed{name}CapacityUnits"
        add(unit, total("AWS/DynamoDB", consumed, TableName=table))
        index = {"TableName": table, "GlobalSecondaryIndexName": TABLE.index.name}
        add(unit, total("AWS/DynamoDB", consumed, **index))
    for unit, amount in _messages(site, loaded, total):
        add(unit, amount)
    worker = site.function(WORKER)
    for function, megabytes in loaded.functions.items():
        add("Lambda request", total("AWS/Lambda", "Invocations", FunctionName=function))
        if function != worker:  # the calculator leaves out what handlers take
            run_ms = total("AWS/Lambda", "Duration", FunctionName=function)
            add("Lambda GB-second", run_ms / 1000 * megabytes / 1024)
    [api] = site.of_kind("ApiGatewayV2::Api").values()
    add("HTTP API request", total("AWS/ApiGateway", "Count", ApiId=api))
    for group in loaded.log_groups:
        add("log GB", total("AWS/Logs", "IncomingBytes", LogGroupName=group) / GB)
    add("bus event", total("AWS/Events", "PutEventsEntriesCount"))
    add("KMS request", total("AWS/Usage", "CallCount", **_KMS))
    return found


_KMS: Final[Mapping[str, str]] = {
    "Service": "KMS",
    "Type": "API",
    "Resource": "CryptographicOperationsSymmetric",
    "Class": "None",
}


def _messages(site: Site, loaded: Loaded, total: Any) -> Iterable[tuple[str, float]]:
    """Yield SQS requests: one for each message that was sent or received, and for empty receives.

    Lambda workers delete each message; the stream's consumer deletes those of polled jobs together.
    """
    prefix = site.outputs["QueuePrefix"]
    names = [sqs_queue_name(prefix, queue) for queue in (LAMBDA_QUEUE, POLLED_QUEUE)]
    for name in (*names, cron_queue_name(prefix)):
        for each in ("NumberOfMessagesSent", "NumberOfMessagesReceived", "NumberOfEmptyReceives"):
            yield "SQS request", total("AWS/SQS", each, QueueName=name)
    lambda_deleted, polled_deleted = (
        total("AWS/SQS", "NumberOfMessagesDeleted", QueueName=name) for name in names
    )
    yield "SQS request", lambda_deleted
    yield "SQS request", polled_deleted / _together(loaded.phases)


def _together(phases: Sequence[Phase]) -> float:
    """Return how many messages of polled jobs one request deletes, by the calculator."""
    polled = [each for phase in phases for each in workloads(phase) if each.uses_http_workers]
    jobs = sum(each.jobs for each in polled)
    requests = sum(each.jobs / deleted_together(jobs_together(each)) for each in polled)
    return jobs / requests if requests else 1.0


def compare(site: Site, loaded: Loaded) -> list[Compared]:
    """Return all lines."""
    ours, theirs = expected(loaded), measured(site, loaded)
    return [
        Compared(unit=unit, expected=float(ours[unit]), measured=float(theirs[unit]))
        for unit in LINES
    ]


def is_as_calculated(site: Site) -> str:
    """Compare each line of the bill with what CloudWatch has counted."""
    if site.loaded is None:
        raise NotSoError("the load did not run")
    late = site.loaded.until + site.scale.metrics_s - site.clock()
    if late > 0:
        site.sleep(late)  # the newest minutes are published late
    lines = compare(site, site.loaded)
    off = [each for each in lines if each.is_judged and each.off > TOLERANCE]
    demand(not off, "; ".join(map(str, off)))
    return "; ".join(map(str, lines))


BILL: Final = Assertion(
    name="calculator",
    section="cost",
    proves=f"each line of the bill is within {TOLERANCE:.0%} of `ojs-aws cost`",
    run=is_as_calculated,
    needs=("cloudwatch:GetMetricStatistics",),
    not_emulated="the emulator has no metrics of what services are billed for",
)
