"""Asserts that the template deploys, that a second deployment changes nothing, and an update."""

from __future__ import annotations

from functools import partial
from typing import Final

from ojs_aws.cli.verify.conformance.deployed_cases import conforms
from ojs_aws.cli.verify.scales import DECLARED, LAMBDA_QUEUE, POLLED_QUEUE
from ojs_aws.cli.verify.site import Assertion, Door, Site, demand
from ojs_aws.domain.access import Scope

FIRST: Final = {"Auth": "api-key", "JobEndpoint": "true", "LogRetentionDays": "1"}
THEN: Final = {**FIRST, "Auth": "iam"}
"""The choices of the first deployment, and those of the update."""

JOB_S: Final = 120.0
"""How long a job may take from its push to its end, cold starts included."""


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


def changes_nothing(site: Site) -> str:
    """Deploy the same again."""
    done = site.deployments.deploy(FIRST)
    changed = ", ".join(each.resource for each in done.changes)
    demand(not done.changes, f"a second deployment changed {changed}")
    return "there was nothing to change"


def has_not_drifted(site: Site) -> str:
    """Compare the resources with the template."""
    drifted = site.evidence.drifted(site.deployments.stack)
    demand(not drifted, f"other than the template says: {', '.join(drifted)}")
    return f"{len(site.resources)} resources are as the template says"


def has_lambda_workers(site: Site) -> str:
    """Let the Lambda worker run a job."""
    job = site.gateway.push(LAMBDA_QUEUE, type="demo.echo", args=["hello"])

    def ended() -> bool:
        return bool(site.gateway.job(job["id"])["state"] == "completed")

    site.eventually(ended, JOB_S, f"the job {job['id']} is completed by the worker")
    return "it completed a job"


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


_DRIFT: Final = (
    "cloudformation:DetectStackDrift",
    "cloudformation:DescribeStackDriftDetectionStatus",
    "cloudformation:DescribeStackResourceDrifts",
    "iam:ListAttachedRolePolicies",  # CloudFormation reads each resource in the caller's name
    "iam:ListRolePolicies",
)
_NO_DRIFT: Final = "the emulator finds no drift"

DEPLOYING: Final = (
    Assertion(
        name="deploys",
        section="deployment",
        proves="the published template deploys with API keys and the job endpoint",
        run=deploys,
        needs=("s3:PutBucketTagging", "dynamodb:PutItem", "dynamodb:GetItem", "dynamodb:Query"),
    ),
    Assertion(
        name="deploys again",
        section="deployment",
        proves="the same deployment again changes nothing",
        run=changes_nothing,
    ),
    Assertion(
        name="no drift",
        section="deployment",
        proves="all resources are as the template says",
        run=has_not_drifted,
        needs=_DRIFT,
        not_emulated=_NO_DRIFT,
    ),
    Assertion(
        name="Lambda worker",
        section="deployment",
        proves="SQS invokes the Lambda worker, which completes a job",
        run=has_lambda_workers,
    ),
)

UPDATING: Final = (
    Assertion(
        name="updates",
        section="update",
        proves="an update to IAM and one queue more keeps table, queues and jobs",
        run=updates,
    ),
    Assertion(
        name="no drift after it",
        section="update",
        proves="all resources are as the updated template says",
        run=has_not_drifted,
        needs=_DRIFT,
        not_emulated=_NO_DRIFT,
    ),
    *(
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
    ),
)
