"""Writes the template that `ojs-aws deploy` deploys: `python -m infra.template`.

The constructs synthesise each choice of who may call, the job endpoint, mail of alarms and a key of
your own; :mod:`infra.template_merge` makes one template of them. What differs by a value only is a
parameter. The file is part of the wheel, so a deployment needs neither the CDK nor Node.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from typing import Any, Final

from aws_cdk import App, CfnParameter, Environment, Stack
from aws_cdk import aws_kms as kms
from aws_cdk.assertions import Template

from infra.stack import mail_topic
from infra.template_merge import (
    STACK,
    Choice,
    Dimension,
    Merge,
    opened,
    opened_worker,
    parameter_of,
    without_long_split,
)
from ojs_aws.cdk import (
    Access,
    ApiKeys,
    Iam,
    JobBackend,
    JobBackendProps,
    Jwt,
    LambdaWorkerFunction,
    LambdaWorkerFunctionProps,
    OpenAccess,
)
from ojs_aws.cdk.bundle import Target
from ojs_aws.cdk.published_template import (
    DECLARED,
    PREFIX,
    REGION,
    TEMPLATE,
    TRIGGER,
    WORKER_TEMPLATE,
    logical_id,
)

WORKER: Final = "Worker"
"""The id of the Lambda worker."""
_TRIGGER: Final = "AWS::Lambda::EventSourceMapping"

_NO_BUNDLING: Final[Mapping[str, Any]] = {
    "aws:cdk:bundling-stacks": [],
    "@aws-cdk/core:enablePartitionLiterals": True,
    "@aws-cdk/aws-iam:minimizePolicies": True,
    "@aws-cdk/core:checkSecretUsage": True,
    "@aws-cdk/core:target-partitions": ["aws", "aws-cn"],
    "@aws-cdk/aws-sqs:queueGrantsIncludeKeyActions": True,
    "@aws-cdk/aws-lambda:recognizeLayerVersion": True,
}

DIMENSIONS: Final = (
    Dimension(
        ("api-key", "iam", "jwt", "none"),
        {"api-key": "AuthIsApiKey", "iam": "AuthIsIam", "jwt": "AuthIsJwt"},
    ),
    Dimension(("false", "true"), {"true": "HasJobEndpoint"}),
    Dimension(("", "yes"), {"yes": "HasAlarmEmail"}),
    Dimension(("", "yes"), {"yes": "HasEncryptionKey"}),
)


def _is(parameter: str, value: str) -> dict[str, Any]:
    return {"Fn::Equals": [parameter_of(parameter), value]}


def _said(parameter: str) -> dict[str, Any]:
    return {"Fn::Not": [_is(parameter, "")]}


CONDITIONS: Final[Mapping[str, Any]] = {
    "AuthIsApiKey": _is("Auth", "api-key"),
    "AuthIsIam": _is("Auth", "iam"),
    "AuthIsJwt": _is("Auth", "jwt"),
    # Only a gateway checks tokens: `ojs-aws deploy` refuses both together.
    "HasJobEndpoint": {
        "Fn::And": [_is("JobEndpoint", "true"), {"Fn::Not": [{"Condition": "AuthIsJwt"}]}]
    },
    "HasAlarmEmail": _said("AlarmEmail"),
    "HasEncryptionKey": _said("EncryptionKey"),
    "HasPermissionsBoundary": _said("PermissionsBoundary"),
    "IsInVpc": {"Fn::Not": [{"Fn::Equals": [{"Fn::Join": ["", parameter_of("SubnetIds")]}, ""]}]},
}


def _text(description: str, default: str = "", **more: object) -> dict[str, Any]:
    """Return a parameter that is a text."""
    return {"Type": "String", "Default": default, **more, "Description": description}


def _list(description: str) -> dict[str, Any]:
    """Return a parameter that is a list; empty by default."""
    return {"Type": "CommaDelimitedList", "Default": "", "Description": description}


def _needed(description: str) -> dict[str, Any]:
    """Return a parameter that has no default."""
    return {"Type": "String", "Description": description}


_DAYS: Final = (1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1827, 3653)

PARAMETERS: Final[Mapping[str, Any]] = {
    "Prefix": _text(
        "Begins the name of each SQS queue; unique in an account and region.",
        "ojs",
        AllowedPattern="[A-Za-z0-9][A-Za-z0-9-]{0,29}",
    ),
    "Auth": _text(
        "Who may call the API: those with API keys, tokens, IAM, or everybody.",
        "api-key",
        AllowedValues=list(DIMENSIONS[0].values),
    ),
    "JwtIssuer": _text("With Auth=jwt: the URL of the issuer."),
    "JwtAudience": _list("With Auth=jwt: one of these is in the tokens' aud."),
    "JobEndpoint": _text(
        "A function URL for senders and workers, beside the API.",
        "false",
        AllowedValues=["false", "true"],
    ),
    "AlarmEmail": _text("Who gets mail of alarms; AWS first asks for consent."),
    "EncryptionKey": _text("ARN of a KMS key of your own for the table and the bucket."),
    "LogRetentionDays": {
        "Type": "Number",
        "Default": 30,
        "AllowedValues": [*_DAYS],
        "Description": "How long logs are kept.",
    },
    "PermissionsBoundary": _text("ARN of the permissions boundary of all roles."),
    "SubnetIds": _list("Subnets of a VPC for the functions, with a way to AWS's services."),
    "SecurityGroupIds": _list("Their security groups, where SubnetIds are given."),
    "Architecture": _text(
        "That of the bundle.", Target().machine, AllowedValues=["arm64", "x86_64"]
    ),
    "Python": _text(
        "The Python version of the bundle.", Target().python, AllowedPattern="3\\.[0-9]+"
    ),
    "BundleBucket": _needed("The bucket of the functions' code."),
    "BundleKey": _needed("The key of the functions' code, a zip file."),
}

WORKER_PARAMETERS: Final[Mapping[str, Any]] = {
    "WorkerBundleBucket": _needed("The bucket of the worker's code."),
    "WorkerBundleKey": _needed("The key of it, a zip file."),
    "WorkerHandler": _text("Module and attribute of the worker's handler.", "jobs.handler"),
}


class PublishedStack(Stack):
    """Defines the backend as one choice makes it, with ids as those of `cdk deploy`.

    :param worker: with a Lambda worker for the declared queue.
    """

    def __init__(self, app: App, choice: Choice, *, worker: bool = False) -> None:
        """Define the stack."""
        super().__init__(
            app,
            STACK,
            env=Environment(region=REGION),
            description="Open Job Spec backend (ojs-aws)",
        )
        auth, endpoint, email, key = choice

        def value(name: str) -> str:
            return CfnParameter(self, name).value_as_string

        access: Access = ApiKeys()
        if auth == "jwt":
            audience = CfnParameter(self, "JwtAudience", type="CommaDelimitedList").value_as_list
            access = Jwt(issuer=value("JwtIssuer"), audience=audience)
        elif auth != "api-key":
            access = Iam() if auth == "iam" else OpenAccess()
        backend = JobBackend(
            self,
            "Backend",
            JobBackendProps(
                output_prefix="",
                queue_prefix=PREFIX,
                queues=[DECLARED],
                target=Target(),
                access=access,
                job_endpoint=endpoint == "true",
                alarm_topic=mail_topic(self, value("AlarmEmail")) if email else None,
                encryption_key=kms.Key.from_key_arn(self, "Key", value("EncryptionKey"))
                if key
                else None,
            ),
        )
        if worker:
            LambdaWorkerFunction(
                self,
                WORKER,
                LambdaWorkerFunctionProps(backend=backend, handler=WORKER, queues=[DECLARED]),
            )


def choices() -> list[Choice]:
    """Return what can be chosen together."""
    every = itertools.product(*(each.values for each in DIMENSIONS))
    return [choice for choice in every if choice[:2] != ("jwt", "true")]


def synthesised(choice: Choice, *, worker: bool = False) -> dict[str, Any]:
    """Return the template of a choice, with parameters in the place of values."""
    stack = PublishedStack(App(context=dict(_NO_BUNDLING)), choice, worker=worker)
    template = Template.from_stack(stack).to_json()
    resources = {name: opened(each) for name, each in template["Resources"].items()}
    return dict(without_long_split({"Resources": resources, "Outputs": template["Outputs"]}))


def published() -> dict[str, Any]:
    """Return the template of all choices."""
    templates = {choice: synthesised(choice) for choice in choices()}
    merge = Merge(DIMENSIONS)
    resources, outputs = (merge.sections(templates, each) for each in ("Resources", "Outputs"))
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": "Open Job Spec backend (ojs-aws)",
        "Parameters": dict(PARAMETERS),
        "Conditions": {**CONDITIONS, **merge.made},
        "Resources": resources,
        "Outputs": outputs,
    }


def with_worker() -> dict[str, Any]:
    """Return what a Lambda worker adds to the template, and changes in it.

    Of the choices, only a key of your own changes the worker: its role may use it.
    """
    merge = Merge(DIMENSIONS)
    choices_of_key: list[Choice] = [("api-key", "false", "", key) for key in DIMENSIONS[-1].values]
    found = {choice: synthesised(choice, worker=True) for choice in choices_of_key}
    merged = merge.sections(found, "Resources")
    roles = {name for name, each in merged.items() if name.startswith(WORKER)}
    names = [*roles, logical_id(DECLARED)]
    resources = {
        TRIGGER if merged[name]["Type"] == _TRIGGER else name: opened_worker(merged[name])
        for name in names
    }
    role = next(name for name in roles if merged[name]["Type"] == "AWS::IAM::Role")
    return {
        "Parameters": dict(WORKER_PARAMETERS),
        "Resources": dict(sorted(resources.items())),
        "Outputs": {"WorkerRoleName": {"Value": {"Ref": role}}},
    }


def main() -> None:
    """Write the files."""
    for path, content in ((TEMPLATE, published()), (WORKER_TEMPLATE, with_worker())):
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        print(f"template: {path}, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
