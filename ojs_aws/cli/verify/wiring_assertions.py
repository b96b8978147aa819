"""Asserts that the parts of a deployment fit: doctor, alarms and their metrics, rights of roles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from ojs_aws.adapters.evidence import Metric
from ojs_aws.cdk import permissions as table
from ojs_aws.cdk.permissions import Permissions
from ojs_aws.cli.deployment.doctor import Verdict
from ojs_aws.cli.verify.scales import LAMBDA_QUEUE
from ojs_aws.cli.verify.site import WORKER, Assertion, NotSoError, Site, asserts, demand
from ojs_aws.topology import (
    DEAD_LETTERED_METRIC,
    DOCUMENT_PREFIX,
    KEY_PARTITION,
    LAG_METRIC,
    LEFT_METRIC,
    LOST_METRIC,
    SET_ASIDE_METRIC,
    TABLE,
    UNDECLARED_METRIC,
    sqs_queue_name,
)

ROLES: Final[Mapping[str, Permissions]] = {
    "Producer": table.PRODUCER,
    "WorkerApi": table.WORKER_API,
    "Operator": table.OPERATOR,
    "System": table.SYSTEM,
    "ApiKeys": table.API_KEYS,
    "Authorizer": table.AUTHORIZER,
    "Tick": table.TICK,
    "Stream": table.STREAM,
    "JobEndpoint": table.JOB_ENDPOINT_WITH_KEYS,
    WORKER: table.LAMBDA_WORKER,
}
"""What each function's role may do, by the name of the function."""

WIRING: Final = list[Assertion]()
wiring = partial(asserts, WIRING, "wiring")

LOOKS: Final = 4
LOOK_S: Final = 10.0
"""How often the doctor is asked until it finds nothing bad, and after how many seconds each."""

RARE: Final[Mapping[str, str]] = {
    "WriteThrottleEvents": "ConsumedWriteCapacityUnits",
    LEFT_METRIC: LAG_METRIC,
    LOST_METRIC: LAG_METRIC,
    SET_ASIDE_METRIC: DEAD_LETTERED_METRIC,
    UNDECLARED_METRIC: LAG_METRIC,
}
"""Metrics that are published only when something is wrong, and those with the same dimensions that
always are."""


@wiring("doctor", "`ojs-aws doctor --probe` finds nothing bad")
def is_well(site: Site) -> str:
    """Run the checks of ``ojs-aws doctor --probe``; functions may start for the first time."""
    bad: list[str] = []
    for _ in range(LOOKS):
        findings = site.doctor(site.gateway)
        demand(findings, "no check found anything")
        bad = [f"{each.check}: {each.text}" for each in findings if each.verdict is Verdict.BAD]
        if not bad:
            return "; ".join(each.text for each in findings if each.check == "stream")
        site.sleep(LOOK_S)
    raise NotSoError("; ".join(bad))


def alarms_see(site: Site) -> str:
    """Look for the metric of each alarm, by its exact name and dimensions."""
    alarms = [*site.of_kind("CloudWatch::Alarm").values()]
    watched = site.evidence.watched(alarms)
    demand(len(watched) == len(alarms), f"of {len(alarms)} alarms there are {len(watched)}")

    def missing() -> list[Metric]:
        usual = [replace(each, name=RARE.get(each.name, each.name)) for each in watched]
        return [each for each in usual if not site.evidence.is_published(each)]

    end = site.clock() + site.scale.metrics_s
    while (blind := missing()) and site.clock() < end:
        site.sleep(10)
    text = "; ".join(f"{each.watched_by} ({each.name} {dict(each.dimensions)})" for each in blind)
    demand(not blind, f"no such metrics for {text}")
    return f"{len(watched)} alarms have their metrics"


@dataclass(frozen=True, slots=True)
class Right:
    """Says what a role may do to one kind of resource.

    :ivar partition: of the table; empty for other resources.
    """

    kind: str
    resource: str
    partition: str
    actions: frozenset[str]


@wiring(
    "roles",
    "each function's role may do what the table of permissions says, and no more",
    needs=("iam:SimulatePrincipalPolicy", "lambda:GetFunctionConfiguration"),
    not_emulated="the emulator does not simulate policies",
)
def roles_fit(site: Site) -> str:
    """Compare what each role may do with the table of permissions, in both directions."""
    rights = {part: rights_of(site, each) for part, each in ROLES.items()}
    known = {
        service: sorted({action for each in rights.values() for right in each
                         for action in right.actions if action.startswith(service)})
        for service in ("dynamodb:", "s3:", "sqs:")
    }  # fmt: skip
    wrong, count = list[str](), 0
    for part, each in rights.items():
        role = site.evidence.role(site.function(part))
        for right in each:
            service = right.resource.split(":")[2]
            asked = known[f"{service}:"]
            allowed = site.evidence.allowed(role, asked, right.resource, right.partition)
            count += len(asked)
            wrong += [f"{part} may not {name}" for name in sorted(right.actions - allowed)]
            wrong += [
                f"{part} may {name} on the {right.kind}" for name in sorted(allowed - right.actions)
            ]
    demand(not wrong, "; ".join(wrong[:5]))
    return f"{count} decisions for {len(ROLES)} roles"


def rights_of(site: Site, given: Permissions) -> list[Right]:
    """Return what a function may do to each kind of resource."""
    arn = site.evidence.table_arn(site.outputs["TableName"])
    _, partition, _, region, account = arn.split(":")[:5]
    prefix = site.outputs["QueuePrefix"]
    queue = f"arn:{partition}:sqs:{region}:{account}:{sqs_queue_name(prefix, LAMBDA_QUEUE)}"
    document = f"arn:{partition}:s3:::{site.outputs['BucketName']}/{DOCUMENT_PREFIX}a"
    puts = (table.BATCH_WRITE,) if given.puts_documents else ()
    queues = (*given.queues, *(table.CREATE_QUEUE if given.creates_queues else ()))
    index = ("dynamodb:Query",) if given.has_index else ()
    return [
        Right("table", arn, "job#a", frozenset((*given.table, *puts))),
        Right("API keys", arn, KEY_PARTITION, frozenset(given.keys)),
        Right("index", f"{arn}/index/{TABLE.index.name}", "a|ready", frozenset(index)),
        Right("queues", queue, "", frozenset(queues)),
        Right("documents", document, "", frozenset(given.documents)),
    ]


ALARMS: Final = Assertion(
    name="alarms",
    section="wiring",
    proves="each alarm watches a metric that is published, with exactly its name and dimensions",
    run=alarms_see,
    needs=("cloudwatch:DescribeAlarms", "cloudwatch:ListMetrics"),
    not_emulated="the emulator makes no metrics of what functions log, and none of services",
)
