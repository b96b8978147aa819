"""Asserts that deployments change what they should, and that each job of a load ends once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from ojs_aws.cli.verify.conformance.runner import conforms
from ojs_aws.cli.verify.load import ENDED
from ojs_aws.cli.verify.scales import DECLARED, LAMBDA_QUEUE, POLLED_QUEUE, Loaded, percentile
from ojs_aws.cli.verify.site import Assertion, Door, NotSoError, Site, asserts, demand
from ojs_aws.domain.access import Scope

FIRST: Final = {"Auth": "api-key", "JobEndpoint": "true", "LogRetentionDays": "1"}
THEN: Final = {**FIRST, "Auth": "iam"}
"""The choices of the first deployment, and those of the update."""

JOB_S: Final = 120.0
"""How long a job may take from its push to its end, cold starts included."""
DOCUMENTED_MS: Final[Mapping[str, tuple[int, int]]] = {
    "push answered": (42, 95),
    "Lambda worker": (72, 160),
    "HTTP worker, busy": (84, 170),
}
"""Median and 99th percentile of docs/latency.md; a test compares them."""
MOST_TIMES: Final = 3
"""By how much medians and 99th percentiles may exceed the documented ones."""
SHARES: Final = (0.5, 0.99)
WORKERS: Final[Mapping[str, str]] = {
    "Lambda worker": LAMBDA_QUEUE,
    "HTTP worker, busy": POLLED_QUEUE,
}


DEPLOYING: Final = list[Assertion]()
UPDATING: Final = list[Assertion]()
LOADING: Final = list[Assertion]()
deploying = partial(asserts, DEPLOYING, "deployment")
loading = partial(asserts, LOADING, "load")
_DRIFT: Final = (
    "cloudformation:DetectStackDrift",
    "cloudformation:DescribeStackDriftDetectionStatus",
    "cloudformation:DescribeStackResourceDrifts",
    "iam:ListAttachedRolePolicies",  # CloudFormation reads each resource in the caller's name
    "iam:ListRolePolicies",
)
_NO_DRIFT: Final = "the emulator finds no drift"


@deploying(
    "deploys",
    "the published template deploys with API keys and the job endpoint",
    needs=("s3:PutBucketTagging", "dynamodb:PutItem", "dynamodb:GetItem", "dynamodb:Query"),
)
def deploys(site: Site) -> str:
    """Deploy the template as it is published, with API keys and the job endpoint."""
    done = site.deployments.deploy(FIRST)
    demand(not done.problem and done.status, f"{done.status or 'nothing was made'} {done.problem}")
    site.outputs, site.resources = site.deployments.outputs(), site.deployments.resources()
    _, key = site.keys(site.outputs["TableName"]).create(f"verify {site.id}", [Scope.ADMIN])
    site.doors = doors(site, key)
    return f"{done.status}, {len(site.resources)} resources"


def doors(site: Site, key: str | None) -> list[Door]:
    """Return the doors of the deployment, with a key, or with signatures of IAM."""
    urls = (("API Gateway", "ApiUrl"), ("job endpoint", "JobEndpointUrl"))
    return [site.open_door(name, site.outputs[output], key) for name, output in urls]


@deploying("deploys again", "the same deployment again changes nothing")
def changes_nothing(site: Site) -> str:
    """Deploy the same again."""
    done = site.deployments.deploy(FIRST)
    changed = ", ".join(each.resource for each in done.changes)
    demand(not done.changes, f"a second deployment changed {changed}")
    return "there was nothing to change"


@deploying(
    "no drift", "all resources are as the template says", needs=_DRIFT, not_emulated=_NO_DRIFT
)
def has_not_drifted(site: Site) -> str:
    """Compare the resources with the template."""
    drifted = site.evidence.drifted(site.deployments.stack)
    demand(not drifted, f"other than the template says: {', '.join(drifted)}")
    return f"{len(site.resources)} resources are as the template says"


@deploying("Lambda worker", "SQS invokes the Lambda worker, which completes a job")
def has_lambda_workers(site: Site) -> str:
    """Let the Lambda worker run a job."""
    job = site.gateway.push(LAMBDA_QUEUE, type="demo.echo", args=["hello"])

    def ended() -> bool:
        return bool(site.gateway.job(job["id"])["state"] == "completed")

    site.eventually(ended, JOB_S, f"the job {job['id']} is completed by the worker")
    return "it completed a job"


@asserts(
    UPDATING,
    "update",
    "updates",
    "an update to IAM and one queue more keeps table, queues and jobs",
)
def updates(site: Site) -> str:
    """Change the queues and who may call; a job of before is still there."""
    kept = site.gateway.push(POLLED_QUEUE, args=["before the update"])
    done = site.deployments.deploy(THEN, [*DECLARED, "more"])
    demand(not done.problem and done.status, f"{done.status or 'nothing changed'} {done.problem}")
    demand(not done.loses_data, f"replaced or removed: {', '.join(done.loses_data)}")
    site.outputs, site.resources = site.deployments.outputs(), site.deployments.resources()
    site.doors = doors(site, None)
    found = site.eventually(lambda: _found(site, kept["id"]), JOB_S, "signed requests are answered")
    demand(found["args"] == kept["args"], f"the job of before has other arguments: {found}")
    return f"{done.status}, {len(done.changes)} changes; the job of before is still there"


def _found(site: Site, job_id: str) -> dict[str, list[str]] | None:
    """Return the arguments of a job; None while the gateway does not let anybody in."""
    answer = site.gateway.ask("GET", f"jobs/{job_id}")
    return {"args": answer.json["job"]["args"]} if answer.json.get("job") else None


asserts(
    UPDATING,
    "update",
    "no drift after it",
    "all resources are as the updated template says",
    needs=_DRIFT,
    not_emulated=_NO_DRIFT,
)(has_not_drifted)
UPDATING.extend(
    Assertion(
        name=f"conformance with IAM, {name}",
        section="update",
        proves=f"signed requests to the {name} are answered as the specification says",
        run=partial(conforms, number=at),
        needs=("execute-api:Invoke", "lambda:InvokeFunctionUrl", "lambda:InvokeFunction"),
        not_emulated=lacks,
    )
    for at, (name, lacks) in enumerate(
        (
            ("API Gateway", ""),
            ("job endpoint", "the emulator does not tell function URLs who signed"),
        )
    )
)


@loading("load", "every push at every rate is taken")
def is_taken(site: Site) -> str:
    """Carry out the load; every push must be answered."""
    site.loaded = loaded = site.load(site)
    asked = sum(phase.jobs for phase in loaded.phases)
    refused = Counter(loaded.refused).most_common(3)
    demand(not loaded.refused, f"{len(loaded.refused)} requests were refused: {refused}")
    demand(len(loaded.sent) == asked, f"{len(loaded.sent)} of {asked} pushes were answered")
    rates = ", ".join(f"{phase.rate}/s for {phase.seconds} s" for phase in loaded.phases)
    return f"{asked} jobs: {rates}"


def _loaded(site: Site) -> Loaded:
    """Return what the load did.

    :raises NotSoError: there was none.
    """
    if site.loaded is None:
        raise NotSoError("the load did not run")
    return site.loaded


@loading("ends", "each job ends exactly once")
def ends_once(site: Site) -> str:
    """Count the ends of each job."""
    loaded = _loaded(site)
    ends = {
        job_id: sum(kind in ENDED for kind, _ in loaded.events.get(job_id, ()))
        for job_id in loaded.sent
    }
    wrong = [job_id for job_id, count in ends.items() if count != 1]
    demand(
        not wrong, f"{len(wrong)} jobs did not end once: {[(id_, ends[id_]) for id_ in wrong[:3]]}"
    )
    return f"{len(ends)} jobs ended, each once"


@loading("event order", "the events of each job are in the order of its transitions")
def is_in_order(site: Site) -> str:
    """Look at the order of each job's events."""
    loaded = _loaded(site)
    for job_id, events in loaded.events.items():
        kinds, times = [kind for kind, _ in events], [at for _, at in events]
        is_whole = bool(kinds) and kinds[0] == "job.enqueued" and kinds[-1] in ENDED
        is_sorted = times == sorted(times)
        demand(is_whole and is_sorted, f"the events of {job_id}: {events}")
    return f"{sum(map(len, loaded.events.values()))} events"


@loading("kills", "the jobs of workers that vanish are run by others")
def returns_killed(site: Site) -> str:
    """Look at the jobs of workers that vanished."""
    loaded = _loaded(site)
    demand(loaded.killed, "no worker vanished")
    for job_id in loaded.killed:
        starts = sum(kind == "job.started" for kind, _ in loaded.events.get(job_id, ()))
        demand(starts > 1, f"{job_id} was started {starts} times")
    return f"{len(loaded.killed)} jobs of vanished workers were run by others"


@loading(
    "latency", f"jobs at 50 a second start within {MOST_TIMES} times the documented median and p99"
)
def is_soon(site: Site) -> str:
    """Show medians and 99th percentiles beside those of docs/latency.md; judge those of workers.

    A push is answered over the network of whoever runs this, so that is shown only.
    """
    loaded = _loaded(site)
    answered = sorted(sent.answered_ms for sent in loaded.sent.values())
    shown, late = [_beside("push answered", "", answered)], list[str]()
    for number, phase in enumerate(loaded.phases):
        for name, queue in WORKERS.items():
            values = loaded.waits_ms(queue, number)
            if values:
                shown.append(_beside(name, f" at {phase.rate}/s", values))
            if number == site.scale.judged_phase:
                demand(values, f"nothing was measured of: {name}")
                if _is_late(name, values):
                    late.append(shown[-1])
    demand(not (site.scale.is_judged and late), "; ".join(late))
    return "; ".join([*shown, f"stream: {loaded.lag}"])


def _beside(name: str, where: str, values: Sequence[float]) -> str:
    half, most = (percentile(values, share) for share in SHARES)
    documented = "{} and {}".format(*DOCUMENTED_MS[name])
    return f"{name}{where}: p50 {half:.0f} and p99 {most:.0f} ms (documented: {documented})"


def _is_late(name: str, values: Sequence[float]) -> bool:
    return any(
        percentile(values, share) > documented * MOST_TIMES
        for share, documented in zip(SHARES, DOCUMENTED_MS[name], strict=True)
    )
