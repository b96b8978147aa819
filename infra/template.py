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
from infra.template_merge import NO_VALUE, Choice, Dimension, Merge, without_long_split
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

STACK: Final = "OjsBackend"
"""The name under which the constructs synthesise. Names that they make of it become those of the
deployed stack, so that an account holds several."""
WORKER: Final = "Worker"
"""The id of the Lambda worker."""
_NAMES: Final = {"AWS::Events::EventBus": "Name", "AWS::Logs::LogGroup": "LogGroupName"}

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


def _parameter(name: str) -> dict[str, Any]:
    return {"Ref": name}


def _is(parameter: str, value: str) -> dict[str, Any]:
    return {"Fn::Equals": [_parameter(parameter), value]}


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
    "IsInVpc": {"Fn::Not": [{"Fn::Equals": [{"Fn::Join": ["", _parameter("SubnetIds")]}, ""]}]},
}

PARAMETERS: Final[Mapping[str, Any]] = {
    "Prefix": {
        "Type": "String",
        "Default": "ojs",
        "AllowedPattern": "[A-Za-z0-9][A-Za-z0-9-]{0,29}",
        "Description": "Begins the name of each SQS queue; unique in an account and region.",
    },
    "Auth": {
        "Type": "String",
        "Default": "api-key",
        "AllowedValues": list(DIMENSIONS[0].values),
        "Description": "Who may call the API: those with API keys, tokens, IAM, or everybody.",
    },
    "JwtIssuer": {
        "Type": "String",
        "Default": "",
        "Description": "With Auth=jwt: the URL of the issuer.",
    },
    "JwtAudience": {
        "Type": "CommaDelimitedList",
        "Default": "",
        "Description": "With Auth=jwt: one of these is in the tokens' aud.",
    },
    "JobEndpoint": {
        "Type": "String",
        "Default": "false",
        "AllowedValues": ["false", "true"],
        "Description": "A function URL for senders and workers, beside the API.",
    },
    "AlarmEmail": {
        "Type": "String",
        "Default": "",
        "Description": "Who gets mail of alarms; AWS first asks for consent.",
    },
    "EncryptionKey": {
        "Type": "String",
        "Default": "",
        "Description": "ARN of a KMS key of your own for the table and the bucket.",
    },
    "LogRetentionDays": {
        "Type": "Number",
        "Default": 30,
        "AllowedValues": [
            1,
            3,
            5,
            7,
            14,
            30,
            60,
            90,
            120,
            150,
            180,
            365,
            400,
            545,
            731,
            1827,
            3653,
        ],
        "Description": "How long logs are kept.",
    },
    "PermissionsBoundary": {
        "Type": "String",
        "Default": "",
        "Description": "ARN of the permissions boundary of all roles.",
    },
    "SubnetIds": {
        "Type": "CommaDelimitedList",
        "Default": "",
        "Description": "Subnets of a VPC for the functions, with a way to AWS's services.",
    },
    "SecurityGroupIds": {
        "Type": "CommaDelimitedList",
        "Default": "",
        "Description": "Their security groups, where SubnetIds are given.",
    },
    "Architecture": {
        "Type": "String",
        "Default": Target().machine,
        "AllowedValues": ["arm64", "x86_64"],
        "Description": "That of the bundle.",
    },
    "Python": {
        "Type": "String",
        "Default": Target().python,
        "AllowedPattern": "3\\.[0-9]+",
        "Description": "The Python version of the bundle.",
    },
    "BundleBucket": {"Type": "String", "Description": "The bucket of the functions' code."},
    "BundleKey": {"Type": "String", "Description": "The key of the functions' code, a zip file."},
}


WORKER_PARAMETERS: Final[Mapping[str, Any]] = {
    "WorkerBundleBucket": {"Type": "String", "Description": "The bucket of the worker's code."},
    "WorkerBundleKey": {"Type": "String", "Description": "The key of it, a zip file."},
    "WorkerHandler": {
        "Type": "String",
        "Default": "jobs.handler",
        "Description": "Module and attribute of the worker's handler.",
    },
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
    resources = {name: _opened(each) for name, each in template["Resources"].items()}
    opened: dict[str, Any] = without_long_split(
        {"Resources": resources, "Outputs": template["Outputs"]}
    )
    return opened


def _opened(resource: dict[str, Any]) -> dict[str, Any]:
    """Return a resource with parameters in the place of what each deployment says itself."""
    opened = {key: value for key, value in resource.items() if key != "Metadata"}
    properties = dict(opened.get("Properties", {}))
    if resource["Type"] == "AWS::Lambda::Function":
        properties |= {
            "Code": {"S3Bucket": _parameter("BundleBucket"), "S3Key": _parameter("BundleKey")},
            "Runtime": {"Fn::Sub": "python${Python}"},
            "Architectures": [_parameter("Architecture")],
            "VpcConfig": _if(
                "IsInVpc",
                {
                    "SubnetIds": _parameter("SubnetIds"),
                    "SecurityGroupIds": _parameter("SecurityGroupIds"),
                },
            ),
        }
    if resource["Type"] == "AWS::IAM::Role":
        access = {
            "Fn::Sub": "arn:${AWS::Partition}:iam::aws:policy/service-role/"
            "AWSLambdaVPCAccessExecutionRole"
        }
        boundary = _parameter("PermissionsBoundary")
        properties |= {
            "PermissionsBoundary": _if("HasPermissionsBoundary", boundary),
            "ManagedPolicyArns": _if("IsInVpc", [access]),
        }
    if resource["Type"] == "AWS::Logs::LogGroup":
        properties["RetentionInDays"] = _parameter("LogRetentionDays")
    if (name := properties.get(_NAMES.get(resource["Type"], ""))) is not None:
        named = name.replace(STACK, "${AWS::StackName}", 1)
        properties[_NAMES[resource["Type"]]] = {"Fn::Sub": named}
    if properties:
        opened["Properties"] = properties
    return opened


def _if(condition: str, value: object) -> dict[str, Any]:
    return {"Fn::If": [condition, value, NO_VALUE]}


def published() -> dict[str, Any]:
    """Return the template of all choices."""
    templates = {choice: synthesised(choice) for choice in choices()}
    merge = Merge(DIMENSIONS)
    resources = merge.sections(templates, "Resources")
    outputs = merge.sections(templates, "Outputs")
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
    resources = {_worker_name(merged[name], name): _of_worker(merged[name]) for name in names}
    role = next(name for name in roles if merged[name]["Type"] == "AWS::IAM::Role")
    return {
        "Parameters": dict(WORKER_PARAMETERS),
        "Resources": dict(sorted(resources.items())),
        "Outputs": {"WorkerRoleName": {"Value": {"Ref": role}}},
    }


def _worker_name(resource: Mapping[str, Any], name: str) -> str:
    return TRIGGER if resource["Type"] == "AWS::Lambda::EventSourceMapping" else name


def _of_worker(resource: dict[str, Any]) -> dict[str, Any]:
    """Return a resource of the worker with its code, and with lists where there may be queues."""
    properties = dict(resource["Properties"])
    if resource["Type"] == "AWS::Lambda::Function":
        properties |= {
            "Code": {
                "S3Bucket": _parameter("WorkerBundleBucket"),
                "S3Key": _parameter("WorkerBundleKey"),
            },
            "Handler": _parameter("WorkerHandler"),
            "Description": "Open Job Spec: worker of the declared queues",
        }
    if resource["Type"] == "AWS::IAM::Policy":
        properties = _listing(properties)
    return {**resource, "Properties": properties}


def _listing(value: Any) -> Any:
    """Return a policy in which the queue's ARN is in a list: there may be several."""
    if isinstance(value, list):
        return [_listing(each) for each in value]
    if isinstance(value, dict):
        queue = {"Fn::GetAtt": [logical_id(DECLARED), "Arn"]}
        return {
            key: [each] if key == "Resource" and each == queue else _listing(each)
            for key, each in value.items()
        }
    return value


def main() -> None:
    """Write the files."""
    for path, content in ((TEMPLATE, published()), (WORKER_TEMPLATE, with_worker())):
        path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        print(f"template: {path}, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
