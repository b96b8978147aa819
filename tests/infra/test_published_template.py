"""The template that `ojs-aws deploy` deploys is what the constructs make, for each choice."""

from __future__ import annotations

import json
from graphlib import TopologicalSorter
from typing import Any, Final

import pytest
from aws_cdk import App, Environment, Stack
from aws_cdk import aws_kms as kms
from aws_cdk.assertions import Template

from infra.stack import mail_topic
from infra.template import choices, published, with_worker
from infra.template_merge import Dimension, Merge, without_long_split
from ojs_aws.cdk import (
    Access,
    ApiKeys,
    Iam,
    JobBackend,
    JobBackendProps,
    Jwt,
    OpenAccess,
    RestoredTable,
)
from ojs_aws.cdk.published_template import (
    DECLARED,
    PREFIX,
    REGION,
    TEMPLATE,
    TRIGGER,
    WORKER_TEMPLATE,
    RestoredStream,
    logical_id,
    rendered,
    restored_stream,
)
from ojs_aws.cli.deployment.deploy_needs import deploy_policy
from ojs_aws.cli.deployment.plans import EvaluatedTemplate
from tests.infra.conftest import NO_BUNDLING

WHERE: Final = "eu-west-1"
ACCOUNT: Final = {"AWS::Partition": "aws", "AWS::AccountId": "123456789012"}
PSEUDO: Final = {"AWS::Region": WHERE, "AWS::StackName": "OjsBackend", **ACCOUNT}
KEY: Final = "arn:aws:kms:eu-west-1:123456789012:key/1"
STREAM: Final = "arn:aws:dynamodb:eu-west-1:123456789012:table/again/stream/2026-03-01T12:00:00.000"
ACCESS: Final[dict[str, Access]] = {
    "api-key": ApiKeys(),
    "iam": Iam(),
    "jwt": Jwt(issuer="https://id.example.com", audience=["jobs", "shop"]),
    "none": OpenAccess(),
}


def slow(*given: object) -> Any:
    """A choice that is compared in the long run of the tests."""
    return pytest.param(*given, marks=pytest.mark.slow)


def by_construct(
    queues: list[str], *, auth: str, endpoint: bool, email: str, key: str, stream: str = ""
) -> dict[str, Any]:
    """The template of a backend with these options."""
    context = {**NO_BUNDLING, "@aws-cdk/core:enablePartitionLiterals": True}
    context |= {"@aws-cdk/aws-iam:minimizePolicies": True}
    context |= {"@aws-cdk/aws-lambda:recognizeLayerVersion": True}
    context |= {"@aws-cdk/core:target-partitions": ["aws", "aws-cn"]}
    context |= {"@aws-cdk/core:checkSecretUsage": True}
    context |= {"@aws-cdk/aws-sqs:queueGrantsIncludeKeyActions": True}
    stack = Stack(App(context=context), "OjsBackend", env=Environment(region=REGION))
    JobBackend(
        stack,
        "Backend",
        JobBackendProps(
            output_prefix="",
            queue_prefix=PREFIX,
            queues=queues,
            access=ACCESS[auth],
            job_endpoint=endpoint,
            alarm_topic=mail_topic(stack, email) if email else None,
            encryption_key=kms.Key.from_key_arn(stack, "Key", key) if key else None,
            restored_table=RestoredTable(name="again", stream_arn=stream) if stream else None,
        ),
    )
    return dict(Template.from_stack(stack).to_json())


def compared(template: dict[str, Any], given: dict[str, str]) -> dict[str, Any]:
    """Resources and outputs, without the code of functions, which is uploaded apart."""
    evaluated = EvaluatedTemplate(template, given, PSEUDO)
    resources = evaluated.section("Resources")
    for name, each in [*resources.items()]:
        if each["Type"] == "AWS::SNS::Subscription":  # the CDK names it by the address
            resources["Mail"] = resources.pop(name)
        for uploaded in ("Code", "ManagedPolicyArns"):
            each.get("Properties", {}).pop(uploaded, None)
        if each["Type"] == "AWS::IAM::Policy":
            statements = each["Properties"]["PolicyDocument"]["Statement"]
            statements.sort(key=lambda statement: json.dumps(statement, sort_keys=True))
    return {"Resources": resources, "Outputs": evaluated.section("Outputs")}


@pytest.mark.parametrize(
    ("auth", "endpoint", "email", "key", "queues"),
    [
        ("api-key", False, "", "", ["default"]),
        ("iam", True, "ops@example.com", KEY, ["email", "media.high", "default"]),
        slow("jwt", False, "ops@example.com", "", ["default", "email"]),
        slow("api-key", True, "ops@example.com", KEY, ["default"]),
        slow("none", False, "", KEY, ["default", "video"]),
    ],
)
def test_the_template_is_what_the_construct_makes(
    auth: str, endpoint: bool, email: str, key: str, queues: list[str]
) -> None:
    """Each resource with its logical id and properties, so `cdk deploy` and it may take turns."""
    given = {
        "Prefix": "shop",
        "Auth": auth,
        "JwtIssuer": "https://id.example.com",
        "JwtAudience": "jobs,shop",
        "JobEndpoint": str(endpoint).lower(),
        "AlarmEmail": email,
        "EncryptionKey": key,
    }
    made = by_construct(queues, auth=auth, endpoint=endpoint, email=email, key=key)
    text = json.dumps(without_long_split(made)).replace(PREFIX, "shop").replace(REGION, WHERE)
    expected = compared(json.loads(text), {})
    found = compared(rendered(queues), given)
    assert {*found["Resources"]} == {*expected["Resources"]}
    for name, each in expected["Resources"].items():
        one = found["Resources"][name]
        assert {*each.pop("DependsOn")} <= {*one.pop("DependsOn")}, name
        assert one == each, name
    assert found["Outputs"] == expected["Outputs"]


@pytest.mark.parametrize("key", ["", slow(KEY)])
def test_a_restored_table_is_used_as_the_construct_uses_it(key: str) -> None:
    """The own table leaves the stack, and each function, right and alarm names the other one."""
    made = by_construct(
        ["default"], auth="api-key", endpoint=False, email="", key=key, stream=STREAM
    )
    text = json.dumps(without_long_split(made)).replace(PREFIX, "shop").replace(REGION, WHERE)
    expected = compared(json.loads(text), {})["Resources"]
    given = {"Prefix": "shop", "Auth": "api-key", "EncryptionKey": key}
    restored = RestoredStream.of(STREAM)
    template = rendered(["default"], restored=restored)
    found = compared(template, given)["Resources"]
    assert restored_stream(template) == restored
    assert restored_stream(rendered(["default"])) is None
    assert "GlobalTable" not in json.dumps(found)

    def by_type(resources: dict[str, Any]) -> dict[str, Any]:
        """By logical id; the stream's trigger, whose id has the table in it, by its type."""
        trigger = "AWS::Lambda::EventSourceMapping"
        return {
            trigger if each["Type"] == trigger else name: (each["Type"], each["Properties"])
            for name, each in resources.items()
        }

    assert by_type(found) == by_type(expected)


@pytest.mark.slow
def test_the_file_is_the_one_that_the_constructs_write() -> None:
    """`python -m infra.template` writes it again after a change of the constructs."""
    assert json.loads(TEMPLATE.read_text("utf-8")) == published()
    assert json.loads(WORKER_TEMPLATE.read_text("utf-8")) == with_worker()


def test_a_worker_serves_each_declared_queue() -> None:
    """A trigger for each, six times the function's timeout, and the rights of a worker on all."""
    given = {"WorkerBundleBucket": "b", "WorkerBundleKey": "k", "EncryptionKey": KEY}
    template = rendered(["email", "media"], worker=True)
    found = EvaluatedTemplate(template, given, PSEUDO).section("Resources")
    queues = [logical_id(queue) for queue in ("email", "media")]
    arns = [{"Fn::GetAtt": [queue, "Arn"]} for queue in queues]
    triggers = [each for name, each in found.items() if name.startswith(TRIGGER)]
    assert [each["Properties"]["EventSourceArn"] for each in triggers] == arns
    assert {each["Properties"]["Tags"][0]["Value"] for each in triggers} == {"ojs__"}
    assert {found[queue]["Properties"]["VisibilityTimeout"] for queue in queues} == {360}
    worker = found[triggers[0]["Properties"]["FunctionName"]["Ref"]]["Properties"]
    assert worker["Code"] == {"S3Bucket": "b", "S3Key": "k"}
    assert worker["Handler"] == "jobs.handler"
    assert worker["Environment"]["Variables"]["OJS_QUEUES"] == "email,media"
    role = worker["Role"]["Fn::GetAtt"][0]
    [policy] = [
        each["Properties"]["PolicyDocument"]["Statement"]
        for each in found.values()
        if each["Type"] == "AWS::IAM::Policy" and each["Properties"]["Roles"] == [{"Ref": role}]
    ]
    [receives] = [each for each in policy if "sqs:ReceiveMessage" in each["Action"]]
    assert receives["Resource"] == arns
    assert [each["Resource"] for each in policy if "kms:Decrypt" in each["Action"]] == [KEY]
    plain = rendered(["email"])
    assert not [name for name in plain["Resources"] if name.startswith("Worker")]
    assert plain["Resources"][queues[0]]["Properties"]["VisibilityTimeout"] == 60


def test_no_resource_waits_for_itself() -> None:
    """What a resource waits for under any choice, it waits for under all."""
    resources = rendered(["default"])["Resources"]
    waits = {name: each.get("DependsOn", []) for name, each in resources.items()}
    assert [*TopologicalSorter(waits).static_order()]


@pytest.mark.parametrize("worker", [False, True])
def test_nothing_of_the_synthesis_is_left_in_a_rendered_template(worker: bool) -> None:
    """Neither prefix and region nor the queue that stood for the declared ones."""
    text = json.dumps(rendered(["default", "email"], worker=worker))
    assert not [each for each in (PREFIX, REGION, DECLARED, logical_id(DECLARED)) if each in text]
    assert len(text) < 1_000_000, "CloudFormation takes a megabyte from S3"


def test_a_boundary_a_vpc_and_log_days_are_on_all_they_are_about() -> None:
    given = {
        "PermissionsBoundary": "arn:aws:iam::123456789012:policy/team",
        "SubnetIds": "subnet-1,subnet-2",
        "SecurityGroupIds": "sg-1",
        "LogRetentionDays": "90",
    }
    found = EvaluatedTemplate(rendered(["default"]), given, PSEUDO).section("Resources").values()

    def of(kind: str) -> list[dict[str, Any]]:
        return [each["Properties"] for each in found if each["Type"] == kind]

    assert all(each["PermissionsBoundary"].endswith("/team") for each in of("AWS::IAM::Role"))
    network = {"SubnetIds": ["subnet-1", "subnet-2"], "SecurityGroupIds": ["sg-1"]}
    assert all(each["VpcConfig"] == network for each in of("AWS::Lambda::Function"))
    assert {each["RetentionInDays"] for each in of("AWS::Logs::LogGroup")} == {90}


def test_each_choice_is_synthesised_but_those_that_exclude_each_other() -> None:
    assert len(choices()) == 28
    assert not [each for each in choices() if each[:2] == ("jwt", "true")]


@pytest.mark.parametrize(
    ("templates", "expected"),
    [
        ({("a",): {"P": 1}, ("b",): {"P": 1}}, {"P": 1}),
        ({("a",): {"P": 1}, ("b",): {"P": 2}}, {"P": {"Fn::If": ["IsA", 1, 2]}}),
        (
            {("a",): {"P": [1, 2]}, ("b",): {"P": [2]}},
            {"P": [{"Fn::If": ["IsA", 1, {"Ref": "AWS::NoValue"}]}, 2]},
        ),
        ({("a",): {"P": 1}, ("b",): None}, {"P": 1, "Condition": "IsA"}),
        ({("a",): None, ("b",): {"P": 1}}, {"P": 1, "Condition": "NotIsA"}),
    ],
)
def test_only_what_differs_depends_on_a_choice(
    templates: dict[tuple[str, ...], Any], expected: dict[str, Any]
) -> None:
    merge = Merge((Dimension(("a", "b"), {"a": "IsA"}),))
    given = {
        choice: {"Resources": {} if each is None else {"R": each}}
        for choice, each in templates.items()
    }
    assert merge.sections(given, "Resources") == {"R": expected}


def test_the_policy_covers_each_service_of_the_template() -> None:
    """A service that is new in the template is missing in the list: this fails with its name."""
    own, made = deploy_policy("Jobs")["Statement"]
    assert own["Resource"].endswith(":stack/Jobs/*")
    assert {"iam:PassRole", "lambda:*", "dynamodb:CreateTable"} <= {*made["Action"]}
    assert "s3:DeleteObjectVersion" not in made["Action"]
    _, more = deploy_policy("Jobs", deletes_data=True)["Statement"]
    assert {"s3:DeleteObjectVersion", "s3:DeleteBucket", "sqs:ListQueues"} <= {*more["Action"]}
