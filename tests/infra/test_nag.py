"""cdk-nag's AwsSolutions pack over the stack: it finds nothing but what is accepted."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from aws_cdk import App, Aspects, Environment, RemovalPolicy, Stack
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk.assertions import Annotations, Match
from cdk_nag import AwsSolutionsChecks

from infra.constructs import ExportOptions, JobBackend, JobBackendProps, SnapStart
from infra.constructs.access import Iam
from infra.stack import OjsStack, OjsStackProps
from tests.infra.conftest import NO_BUNDLING, Synthesised


def findings(stack: Stack) -> list[str]:
    """What the pack finds, warnings as well."""
    Aspects.of(stack).add(AwsSolutionsChecks(verbose=True))
    told = Annotations.from_stack(stack)
    every = Match.any_value()
    found = [*told.find_error("*", every), *told.find_warning("*", every)]
    return [f"{each.id}: {each.entry.data}" for each in found]


def stack_as_deployed(app: App) -> Stack:
    """What ``cdk deploy`` makes."""
    return OjsStack(app, "Ojs", OjsStackProps())


def backend_with_options(app: App) -> Stack:
    """A key of one's own, declared queues only, IAM, and nothing open."""
    stack = Stack(app, "Jobs", env=Environment(account="123456789012", region="eu-west-1"))
    props = JobBackendProps(
        queues=["email"],
        allow_undeclared_queues=False,
        access=Iam(),
        public_status=False,
        encryption_key=kms.Key(stack, "Key", enable_key_rotation=True),
        removal_policy=RemovalPolicy.RETAIN,
    )
    JobBackend(stack, "Backend", props)
    return stack


def backend_with_extras(app: App) -> Stack:
    """What is off unless it is asked for: the export, snapshots, backups of documents, alarms."""
    stack = Stack(app, "Jobs", env=Environment(account="123456789012", region="eu-west-1"))
    topic = sns.Topic(stack, "Told", enforce_ssl=True)
    props = JobBackendProps(
        export=ExportOptions(documents=True),
        start=SnapStart(),
        document_backup_days=35,
        alarm_topic=topic,
    )
    JobBackend(stack, "Backend", props)
    return stack


@pytest.mark.parametrize("make", [stack_as_deployed, backend_with_options, backend_with_extras])
def test_the_aws_solutions_pack_finds_nothing_that_is_not_accepted(
    make: Callable[[App], Stack],
) -> None:
    """Each exception is written at its resource (infra/constructs/accepted.py)."""
    assert findings(make(App(context=NO_BUNDLING))) == []


def test_each_accepted_finding_has_a_reason(stack: Synthesised) -> None:
    """In a sentence, and of these rules only: another one is a decision to be seen in review."""
    accepted = [
        entry
        for resource in stack.document["Resources"].values()
        for entry in resource.get("Metadata", {}).get("cdk_nag", {}).get("rules_to_suppress", [])
    ]
    rules = {entry["id"].removeprefix("AwsSolutions-") for entry in accepted}
    assert rules == {"APIG4", "IAM5", "L1", "S1", "SQS3"}
    assert all(len(entry["reason"]) > 30 for entry in accepted)


def test_functions_write_their_own_log_and_no_other(stack: Synthesised) -> None:
    """No managed policy: Lambda's allows every log of the account. Logs end by themselves."""
    for role in stack.of("AWS::IAM::Role"):
        assert "ManagedPolicyArns" not in role
    for function in stack.of("AWS::Lambda::Function"):
        group = function["LoggingConfig"]["LogGroup"]["Ref"]
        logging = [
            resource
            for actions, resource in stack.statements(function["Handler"])
            if any(action.startswith("logs:") for action in actions)
        ]
        assert logging == [f"<{group}.Arn>"]
    assert all(group["RetentionInDays"] for group in stack.of("AWS::Logs::LogGroup"))
