"""``ojs-aws deploy``: what nobody says stays as deployed, and a plan changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import typer

from ojs_aws.adapters.stacks import Stacks, StackState
from ojs_aws.cdk.published_template import rendered, worker_concurrency
from ojs_aws.cli.deployment.deploy_choices import Choices, Wanted
from ojs_aws.cli.deployment.deploy_plans import (
    DEMO_HANDLER,
    FAILED_CREATION,
    KEEP,
    planned,
    prepared,
    target_of,
)
from ojs_aws.cli.deployment.deploy_reports import clear, report, show
from ojs_aws.cli.terminal.output import Output
from ojs_aws.cli.terminal.session import ExitCode
from ojs_aws.domain.errors import BackendError, InvalidRequestError, NotFoundError
from ojs_aws.topology import sqs_queue_name

STACK = "OjsBackend"
TABLE = "AWS::DynamoDB::GlobalTable"
STREAM = "arn:aws:dynamodb:eu-west-1:123456789012:table/again/stream/2026-03-01T12:00:00.000"


class Cloud:
    """CloudFormation with one stack, and S3.

    :ivar statuses: of the stack, one after the other; the last one stays. None: there is no stack.
    :ivar calls: what was asked that changes something.
    :ivar changes: what a change set removes.
    """

    def __init__(self, *statuses: str | None, **stack: Any) -> None:
        self.statuses = list(statuses)
        self.stack = stack
        self.calls: list[str] = []
        self.asked: Mapping[str, Any] = {}
        self.template: dict[str, Any] = {}
        self.changes: list[dict[str, str]] = []

    def describe_stacks(self, **_: str) -> Any:
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        return {"Stacks": [{"StackStatus": status or "DELETE_COMPLETE", **self.stack}]}

    def get_template(self, **_: str) -> Any:
        return {"TemplateBody": self.template}

    def create_change_set(self, **asked: Any) -> None:
        self.calls.append("create_change_set")
        self.asked = asked

    def describe_change_set(self, **_: str) -> Any:
        changes = [{"ResourceChange": {"Action": "Remove", **each}} for each in self.changes]
        return {"Status": "CREATE_COMPLETE", "Changes": changes}

    def head_bucket(self, **_: str) -> None:
        """The bucket is there."""

    def __getattr__(self, name: str) -> Any:
        class Meta:
            endpoint_url = "https://s3"

        return Meta if name == "meta" else lambda **_: self.calls.append(name)


def stacks_of(cloud: Any) -> Stacks:
    return Stacks(cloud, cloud, "eu-west-1", "123456789012", lambda _: None)


def state(**members: Any) -> StackState:
    usual: dict[str, Any] = {"status": "UPDATE_COMPLETE", "reason": "", "outputs": {}, "tags": {}}
    return StackState(name=STACK, **usual | {"parameters": {}, "template": {}} | members)


def by_cdk() -> StackState:
    function = {
        "Architectures": ["x86_64"],
        "Runtime": "python3.12",
        "Environment": {"Variables": {"OJS_QUEUES": "default"}},
    }
    resource = {"Type": "AWS::Lambda::Function", "Properties": function}
    return state(template={"Resources": {"Push": resource}})


# ------------------------------------------------------------------------------------- the target
@pytest.mark.parametrize(
    ("said", "deployed", "expected"),
    [
        ({}, None, "arm64 and Python 3.13"),
        ({}, state(status="REVIEW_IN_PROGRESS"), "arm64 and Python 3.13"),
        (
            {},
            state(parameters={"Architecture": "x86_64", "Python": "3.11"}),
            "x86_64 and Python 3.11",
        ),
        ({}, by_cdk(), "x86_64 and Python 3.12"),
        ({"architecture": "arm64"}, by_cdk(), "arm64 and Python 3.12"),
        ({"python": "3.14"}, by_cdk(), "x86_64 and Python 3.14"),
    ],
)
def test_functions_go_on_with_the_processor_that_they_have(
    said: dict[str, Any],
    deployed: StackState | None,
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And with their Python, unless somebody says another one."""
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    assert str(target_of(Wanted(stack=STACK, **said), deployed)) == expected


# --------------------------------------------------------------------------------------- the plan
def test_a_queue_has_the_name_at_sqs_that_the_functions_ask_for() -> None:
    """SQS takes no dots."""
    found = prepared(Wanted(stack=STACK, queues=["mail.high"]), stacks_of(Cloud(None)))
    names = [each.get("QueueName") for _, each in found.stack().of("AWS::SQS::Queue")]
    assert sqs_queue_name("ojs__", "mail.high") in names


def test_a_queue_that_is_named_twice_is_declared_once() -> None:
    assert Choices(queues="a, b,a,").wanted(Output(as_json=False)).queues == ["a", "b"]


@pytest.mark.parametrize("queue", ["Mail", "a b", "a_b", "a" * 129])
def test_a_queue_that_no_job_can_have_is_refused(queue: str) -> None:
    with pytest.raises(InvalidRequestError, match="'queue' attribute"):
        prepared(Wanted(stack=STACK, queues=[queue]), stacks_of(Cloud(None)))


def test_a_restored_table_is_used_until_somebody_names_another() -> None:
    """A later deployment that does not mention it must not make an empty table."""
    first = Wanted(stack=STACK, restored_stream=STREAM, bundles="s3://mine/folder")
    template = prepared(first, stacks_of(Cloud(None))).template
    assert TABLE not in {each["Type"] for each in template["Resources"].values()}
    cloud = Cloud("UPDATE_COMPLETE", Parameters=[{"ParameterKey": "BundleKey"}])
    cloud.template = {**template}
    assert prepared(Wanted(stack=STACK), stacks_of(cloud)).template == template


@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        ("again", "is the ARN of a table's stream, not 'again'"),
        (STREAM.replace("eu-west-1", "eu-west-2"), "in 123456789012, eu-west-2"),
        (STREAM.replace("123456789012", "210987654321"), "in 210987654321, eu-west-1"),
    ],
)
def test_a_restored_table_elsewhere_is_refused(stream: str, expected: str) -> None:
    with pytest.raises(InvalidRequestError, match=expected):
        prepared(Wanted(stack=STACK, restored_stream=stream), stacks_of(Cloud(None)))


def test_a_plan_says_what_leaves_the_stack_and_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    """In an incident, nobody agrees to the removal of a table."""
    cloud = Cloud("UPDATE_COMPLETE", Parameters=[{"ParameterKey": "BundleKey"}])
    cloud.template = rendered(["default"])
    wanted = Wanted(stack=STACK, restored_stream=STREAM, bundles="s3://mine/folder")
    [table] = [name for name, each in cloud.template["Resources"].items() if each["Type"] == TABLE]
    gone = {"ResourceType": TABLE, "LogicalResourceId": table}
    other = {"ResourceType": "AWS::Lambda::Url", "LogicalResourceId": "Url"}
    cloud.changes = [gone, other]
    plan = planned(prepared(wanted, stacks_of(cloud)), stacks_of(cloud))
    assert [(each.action, each.resource) for each in plan.changes] == [
        (KEEP, table),
        ("Remove", "Url"),
    ]
    show(Output(as_json=False), plan)
    shown = capsys.readouterr().out
    assert "LEAVES THE STACK, IS KEPT" in shown
    assert "REMOVE" in shown


def test_what_to_do_next_can_be_copied(capsys: pytest.CaptureFixture[str]) -> None:
    """The line for the shell is not broken, however long it is."""
    line = f"export OJS_URL=https://{'x' * 200} AWS_REGION=eu-west-1"
    outputs = {"NextCommand": line, "WorkerRoleName": "role"}
    report(Output(as_json=False), stacks_of(Cloud(None)), state(outputs=outputs))
    lines = capsys.readouterr().out.splitlines()
    assert f"  {line}" in lines
    assert sum("export" in each for each in lines) == 1
    assert not any("ojs-aws init" in each for each in lines)


def test_the_tags_of_a_stack_stay_where_others_are_added() -> None:
    """CloudFormation removes those that a change set leaves out."""
    tags = [{"Key": "team", "Value": "shop"}, {"Key": "stage", "Value": "test"}]
    parameters = [{"ParameterKey": "BundleKey", "ParameterValue": "k"}]
    cloud = Cloud("UPDATE_COMPLETE", Tags=tags, Parameters=parameters)
    wanted = Wanted(stack=STACK, tags={"stage": "live"}, bundles="s3://mine/folder")
    planned(prepared(wanted, stacks_of(cloud)), stacks_of(cloud))
    found = {each["Key"]: each["Value"] for each in cloud.asked["Tags"]}
    assert found == {"team": "shop", "stage": "live"}


@pytest.mark.parametrize("status", [None, "REVIEW_IN_PROGRESS"])
def test_an_upgrade_makes_no_stack(status: str | None) -> None:
    """A name that was misspelt would make a second backend."""
    cloud = Cloud(status)
    with pytest.raises(NotFoundError, match=f"no stack {STACK}"):
        prepared(Wanted(stack=STACK, is_upgrade=True), stacks_of(cloud))
    assert cloud.calls == []


def with_worker(**said: str) -> Cloud:
    """A stack of this template that has a Lambda worker."""
    given = {"BundleKey": "k", "WorkerBundleKey": "w", "WorkerHandler": "a.b"} | said
    parameters = [{"ParameterKey": name, "ParameterValue": given[name]} for name in given]
    return Cloud("UPDATE_COMPLETE", Parameters=parameters)


def test_a_worker_stays_where_nobody_says_otherwise() -> None:
    """With its code and handler; --without-worker removes it."""
    found = prepared(Wanted(stack=STACK), stacks_of(with_worker()))
    assert found.parameters["WorkerBundleKey"] is None
    assert found.parameters["WorkerHandler"] is None
    dropped = prepared(Wanted(stack=STACK, drops_worker=True), stacks_of(with_worker()))
    assert not [name for name in dropped.parameters if name.startswith("Worker")]


def test_a_worker_of_demo_jobs_has_the_code_of_the_backend() -> None:
    """As `verify-aws` deploys it, with its own role and without a folder."""
    cloud = Cloud(None)
    wanted = Wanted(stack=STACK, runs_demo=True, bundles="s3://mine/folder")
    plan = prepared(wanted, stacks_of(cloud))
    planned(plan, stacks_of(cloud))
    given = {each["ParameterKey"]: each["ParameterValue"] for each in cloud.asked["Parameters"]}
    assert given["WorkerBundleKey"] == given["BundleKey"]
    assert given["WorkerHandler"] == DEMO_HANDLER
    assert [name for name in plan.template["Resources"] if name.startswith("WorkerFunctionRole")]


def test_a_worker_s_code_goes_with_its_folder() -> None:
    """Without it, the functions may not get another processor, nor a handler that is nowhere."""
    cloud = stacks_of(with_worker(Architecture="arm64", Python="3.13"))
    with pytest.raises(InvalidRequestError, match="--worker FOLDER"):
        prepared(Wanted(stack=STACK, architecture="x86_64"), cloud)
    without = stacks_of(Cloud(None))
    with pytest.raises(InvalidRequestError, match="--worker FOLDER"):
        prepared(Wanted(stack=STACK, parameters={"WorkerHandler": "a.b"}), without)
    with pytest.raises(InvalidRequestError, match="--worker FOLDER"):
        prepared(Wanted(stack=STACK, worker_concurrency=5), without)


def test_the_concurrency_of_a_worker_stays_until_another_one_is_asked_for() -> None:
    """For each declared queue; the preflight counts it."""
    said = Wanted(stack=STACK, queues=["a", "b"], worker_concurrency=5)
    found = prepared(said, stacks_of(with_worker()))
    triggers = [each for _, each in found.stack().of("AWS::Lambda::EventSourceMapping")]
    bounds = [each.get("ScalingConfig", {}).get("MaximumConcurrency") for each in triggers]
    assert bounds.count(5) == 2
    deployed = with_worker()
    deployed.template = dict(found.template)
    assert worker_concurrency(prepared(Wanted(stack=STACK), stacks_of(deployed)).template) == 5
    assert worker_concurrency(rendered(["a"], worker=True)) == 100
    assert worker_concurrency(rendered(["a"])) is None


# ------------------------------------------------------------------------------ stacks of the CDK
def test_a_stack_of_the_cdk_is_adopted_as_it_is() -> None:
    """It has no parameters: prefix, callers and endpoint are read off its template."""
    cloud = Cloud("UPDATE_COMPLETE")
    cloud.template = rendered(["default"])
    said = {"OJS_QUEUE_PREFIX": "shop__", "OJS_AUTH": "iam", "OJS_QUEUES": "default"}
    for each in cloud.template["Resources"].values():
        if each["Type"] == "AWS::Lambda::Function":
            each["Properties"] |= {"Architectures": ["arm64"], "Runtime": "python3.13"}
            each["Properties"]["Environment"] = {"Variables": said}
    found = prepared(Wanted(stack=STACK), stacks_of(cloud)).parameters
    assert (found["Prefix"], found["Auth"]) == ("shop", "iam")


@pytest.mark.parametrize(
    ("table", "prefix", "reason"),
    [("Elsewhere", "ojs__", "another logical id"), (None, "ojs-", "queue_separator '-'")],
)
def test_a_stack_that_cannot_be_adopted_says_why(
    table: str | None, prefix: str, reason: str
) -> None:
    [ours] = [
        name
        for name, each in rendered(["default"])["Resources"].items()
        if each["Type"] == "AWS::DynamoDB::GlobalTable"
    ]
    deployed = by_cdk().template
    variables = deployed["Resources"]["Push"]["Properties"]["Environment"]["Variables"]
    cloud = Cloud("UPDATE_COMPLETE")
    variables["OJS_QUEUE_PREFIX"] = prefix
    cloud.template = {
        "Resources": {
            **deployed["Resources"],
            table or ours: {"Type": "AWS::DynamoDB::GlobalTable"},
        }
    }
    with pytest.raises(InvalidRequestError, match=reason):
        prepared(Wanted(stack=STACK), stacks_of(cloud))
    assert cloud.calls == []


# ----------------------------------------------------------------------- what a failed one left
@pytest.mark.parametrize(
    ("status", "way_on"),
    [
        ("ROLLBACK_COMPLETE", "run the same command again: it first deletes"),
        ("UPDATE_ROLLBACK_COMPLETE", "What was before is back"),
        ("UPDATE_ROLLBACK_FAILED", "continue-update-rollback"),
    ],
)
def test_a_failed_deployment_names_resource_reason_and_the_way_on(
    status: str, way_on: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first cause, and not what was cancelled because of it.

    The events of what was rolled back may fill pages before it.
    """

    def event(resource: str, reason: str, status: str = "CREATE_FAILED") -> dict[str, str]:
        return {
            "LogicalResourceId": resource,
            "ResourceType": "AWS::SQS::Queue",
            "ResourceStatus": status,
            "ResourceStatusReason": reason,
        }

    class Pages:
        def paginate(self, **_: str) -> Iterator[Any]:
            yield {"StackEvents": [event("Other", "", "DELETE_COMPLETE")]}
            cancelled = event("Other", "Resource creation cancelled")
            yield {"StackEvents": [cancelled, event("Q", "the name is taken")]}
            begun = event(STACK, "", "CREATE_IN_PROGRESS")
            yield {"StackEvents": [begun, event("Old", "the name was taken")]}

    cloud: Any = Cloud(status)
    cloud.get_paginator = lambda _: Pages()
    with pytest.raises(typer.Exit) as ended:
        report(Output(as_json=False), stacks_of(cloud), state(status=status))
    said = " ".join(capsys.readouterr().err.split())
    assert ended.value.exit_code == ExitCode.FAILED
    assert f"is {status}. Q (AWS::SQS::Queue): the name is taken" in said
    assert way_on in said
    assert "Other" not in said
    assert "Old" not in said


@pytest.mark.parametrize("status", sorted(FAILED_CREATION))
def test_a_plan_deletes_nothing_of_a_failed_creation(status: str) -> None:
    """Nor does a deployment that can ask nobody."""
    for plan, yes in ((True, True), (True, False), (False, False)):
        cloud = Cloud(status)
        with pytest.raises(typer.Exit):
            clear(Output(as_json=False), stacks_of(cloud), STACK, plan=plan, yes=yes)
        assert cloud.calls == []


def test_the_rest_of_a_failed_creation_goes_if_somebody_agrees() -> None:
    cloud = Cloud("ROLLBACK_COMPLETE", None)
    clear(Output(as_json=False), stacks_of(cloud), STACK, plan=False, yes=True)
    assert cloud.calls == ["delete_stack"]


@pytest.mark.parametrize(
    "statuses", [["DELETE_FAILED"], ["ROLLBACK_COMPLETE", "DELETE_FAILED"]], ids=["before", "now"]
)
def test_nothing_is_deployed_over_a_deletion_that_failed(statuses: list[str]) -> None:
    with pytest.raises(typer.Exit):
        clear(Output(as_json=False), stacks_of(Cloud(*statuses)), STACK, plan=False, yes=True)


@pytest.mark.parametrize("status", [None, "CREATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE"])
def test_a_stack_in_use_is_left_alone(status: str | None) -> None:
    cloud = Cloud(status)
    clear(Output(as_json=False), stacks_of(cloud), STACK, plan=False, yes=True)
    assert cloud.calls == []


# ---------------------------------------------------------------------------------- the execution
def test_a_new_stack_may_look_unexecuted_for_a_moment() -> None:
    """CloudFormation answers before it begins."""
    cloud = Cloud("REVIEW_IN_PROGRESS", "CREATE_IN_PROGRESS", "CREATE_COMPLETE")
    assert stacks_of(cloud).execute(STACK, "one").status == "CREATE_COMPLETE"
    with pytest.raises(BackendError, match="does not execute"):
        stacks_of(Cloud("REVIEW_IN_PROGRESS")).execute(STACK, "one")
