"""What goes with a stack: only where that is asked for, and after everything that uses it."""

from __future__ import annotations

from typing import Any

from aws_cdk import App, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam

from ojs_aws.cdk import JobBackend, JobBackendProps
from ojs_aws.cdk.permissions import PRODUCER
from tests.infra.conftest import NO_BUNDLING, Synthesised
from tests.infra.order import Order
from tests.infra.templates import of_context, of_stack

KIND = "Custom::OjsRemoval"
HANDLER = "functions.removal.handler.handler"
TAG = {"Key": "ojs-removal", "Value": "destroy"}
WRITING = {"s3:PutObject", "sqs:CreateQueue"}


def gone() -> Synthesised:
    """A stack with everything that writes documents, files or queues, which goes with its data."""
    return of_context(
        removal="destroy",
        export_days="3",
        queues="default,late",
        adopted_queues="late",
        job_endpoint="true",
    )


def names(template: Synthesised, kind: str) -> list[str]:
    """The logical ids of the resources of a type."""
    return Order(template).of(kind)


def role_of(template: Synthesised, function: str) -> str:
    """The logical id of a function's role."""
    return str(template.document["Resources"][function]["Properties"]["Role"]["Fn::GetAtt"][0])


def writers(template: Synthesised) -> list[str]:
    """The functions that may put objects or make queues."""
    return [
        name
        for name in names(template, "AWS::Lambda::Function")
        if WRITING & template.actions(template.document["Resources"][name]["Properties"]["Handler"])
    ]


def test_a_stack_that_keeps_its_data_has_nothing_that_removes_it(stack: Synthesised) -> None:
    """No function with such rights, and no tag that would allow it to empty a bucket."""
    assert not stack.of(KIND)
    assert HANDLER not in {each["Handler"] for each in stack.of("AWS::Lambda::Function")}
    for bucket in stack.of("AWS::S3::Bucket"):
        assert TAG not in bucket.get("Tags", [])


def test_each_bucket_that_goes_is_emptied_and_one_takes_the_queues_along() -> None:
    """By its tag, which the same update takes away that makes the stack keep its data."""
    template = gone()
    buckets = names(template, "AWS::S3::Bucket")
    assert len(buckets) == 2
    removed = template.of(KIND)
    assert {each["Bucket"]["Ref"] for each in removed} == {*buckets}
    documents = template.function("functions.producer.handler.handler")["Environment"]["Variables"]
    (whole,) = [each for each in removed if each.get("WithQueues") == "true"]
    assert whole["Bucket"] == documents["OJS_BUCKET"]
    for bucket in template.of("AWS::S3::Bucket"):
        assert TAG in bucket["Tags"]


def test_data_is_removed_after_all_that_could_write_more() -> None:
    """The functions are gone by then with what triggers them; what is removed is there still."""
    template = gone()
    order = Order(template)
    by_bucket = {
        template.document["Resources"][name]["Properties"]["Bucket"]["Ref"]: name
        for name in order.of(KIND)
    }
    for bucket, removal in by_bucket.items():
        assert bucket in order.earlier(removal)
    functions = writers(template)
    assert len(functions) == 8  # producer, worker_api, job_endpoint, operator, tick, stream, ...
    documents = template.function("functions.producer.handler.handler")["Environment"]["Variables"]
    for each in functions:
        assert by_bucket[documents["OJS_BUCKET"]["Ref"]] in order.earlier(each)
    export = template.logical_id(
        "AWS::Lambda::Function", template.function("functions.export.handler.handler")
    )
    assert {*by_bucket.values()} <= order.earlier(export)
    (policy,) = [  # it names the adopted queue as well, which goes, too
        name
        for name in order.of("AWS::SQS::QueuePolicy")
        if len(template.document["Resources"][name]["Properties"]["Queues"]) > 1
    ]
    assert by_bucket[documents["OJS_BUCKET"]["Ref"]] in order.earlier(policy)


def test_the_function_has_its_rights_until_it_has_answered() -> None:
    """Function, role and policy are deleted after the custom resources; so is the log."""
    template = gone()
    order = Order(template)
    function = template.logical_id("AWS::Lambda::Function", template.function(HANDLER))
    role = role_of(template, function)
    policies = [
        name
        for name in order.of("AWS::IAM::Policy")
        if {"Ref": role} in template.document["Resources"][name]["Properties"]["Roles"]
    ]
    assert policies
    for removal in order.of(KIND):
        assert {function, role, *policies} <= order.earlier(removal)


def test_it_may_remove_what_goes_with_the_stack_and_nothing_else() -> None:
    """Objects of the two buckets, and queues that have the deployment's tag."""
    template = gone()
    buckets = names(template, "AWS::S3::Bucket")
    allowed = {
        action: {where for actions, where in template.statements(HANDLER) if action in actions}
        for action in template.actions(HANDLER)
    }
    logging = {"logs:CreateLogStream", "logs:PutLogEvents"}
    objects, themselves = (
        {f"<{each}.Arn>/*" for each in buckets},
        {f"<{each}.Arn>" for each in buckets},
    )
    queues = {where for where in allowed["sqs:DeleteQueue"] if where.endswith(":ojs__*")}
    assert len(queues) == 1
    assert {name: where for name, where in allowed.items() if name not in logging} == {
        "s3:DeleteObject": objects,
        "s3:DeleteObjectVersion": objects,
        "s3:GetBucketTagging": themselves,
        "s3:ListBucketVersions": themselves,
        "sqs:ListQueues": {"*"},
        "sqs:ListQueueTags": queues,
        "sqs:DeleteQueue": queues,
    }
    (conditional,) = template.conditional(HANDLER, "Allow")
    assert conditional["Action"] == "sqs:DeleteQueue"
    assert conditional["Condition"] == {
        "StringEquals": {"aws:ResourceTag/ojs-queue-prefix": "ojs__"}
    }


def test_cloudformation_does_not_wait_longer_than_the_function_may_take() -> None:
    """A little more than Lambda's longest time; an event that is older is dropped."""
    template = gone()
    timeout_s = template.function(HANDLER)["Timeout"]
    function = template.logical_id("AWS::Lambda::Function", template.function(HANDLER))
    for removal in template.of(KIND):
        assert timeout_s < int(removal["ServiceTimeout"]) <= timeout_s + 300
    (config,) = [
        each
        for each in template.of("AWS::Lambda::EventInvokeConfig")
        if each["FunctionName"] == {"Ref": function}
    ]
    assert config["MaximumEventAgeInSeconds"] <= timeout_s


def test_a_principal_of_ones_own_is_deleted_before_the_data() -> None:
    """Who was granted to put documents and make queues, as the producer is."""
    scope = Stack(App(context=NO_BUNDLING), "S")
    backend = JobBackend(scope, "Jobs", JobBackendProps(removal_policy=RemovalPolicy.DESTROY))
    role = iam.Role(scope, "Shop", assumed_by=iam.ServicePrincipal("ecs-tasks.amazonaws.com"))
    backend.grant(role, PRODUCER)
    template = of_stack(scope)
    (removal,) = names(template, KIND)
    made: Any = role.node.default_child
    assert removal in Order(template).earlier(scope.get_logical_id(made))
