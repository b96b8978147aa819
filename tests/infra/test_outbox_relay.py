"""The relay of an outbox is a scheduled function beside a private database."""

from __future__ import annotations

from pathlib import Path

from aws_cdk import App, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_secretsmanager as secretsmanager

from ojs_aws.cdk import (
    JobBackend,
    JobBackendProps,
    OutboxRelayFunction,
    OutboxRelayFunctionProps,
)
from tests.infra.conftest import NO_BUNDLING, Synthesised
from tests.infra.templates import of_stack

HANDLER = "ojs_aws.contrib.sqlalchemy.lambda_relay.handler"
DOCS = Path(__file__).parents[2] / "docs"


def synthesised(folder: Path) -> Synthesised:
    scope = Stack(App(context=NO_BUNDLING), "S")
    vpc = ec2.Vpc(scope, "Vpc", max_azs=2, nat_gateways=1)
    relay = OutboxRelayFunction(
        scope,
        "Relay",
        OutboxRelayFunctionProps(
            backend=JobBackend(scope, "Jobs", JobBackendProps(queues=["email"])),
            database="postgresql+psycopg://shop@db.internal/shop",
            password=ecs.Secret.from_secrets_manager(
                secretsmanager.Secret(scope, "Password"), "password"
            ),
            code_dir=folder,
            vpc=vpc,
        ),
    )
    assert relay.function.connections.security_groups
    return of_stack(scope)


def test_the_relay_is_a_scheduled_function_that_may_enqueue(tmp_path: Path) -> None:
    """It may read one secret and enqueue, and neither claim nor list jobs."""
    template = synthesised(tmp_path)
    functions = template.of("AWS::Lambda::Function")
    (function,) = [each for each in functions if each["Handler"] == HANDLER]
    variables = function["Environment"]["Variables"]
    assert variables["OJS_OUTBOX_DATABASE"] == "postgresql+psycopg://shop@db.internal/shop"
    assert "OJS_OUTBOX_PASSWORD" in str(variables["OJS_SECRETS"])
    assert "OJS_TABLE" in variables
    assert function["VpcConfig"]["SubnetIds"]
    actions = {each for each in template.actions(HANDLER) if not each.startswith(("ec2:", "logs:"))}
    assert "secretsmanager:GetSecretValue" in actions
    assert {"dynamodb:PutItem", "sqs:SendMessage"} <= actions
    assert not {"sqs:ReceiveMessage", "dynamodb:DeleteTable", "dynamodb:Scan"} & actions
    rules = template.of("AWS::Events::Rule")
    assert [each for each in rules if each["Description"] == "Sends the jobs of an outbox"]


def test_alarms_tell_of_late_and_parked_rows(tmp_path: Path) -> None:
    """Each names a section of the page that says what to do."""
    alarms = synthesised(tmp_path).of("AWS::CloudWatch::Alarm")
    late, parked = (
        next(each for each in alarms if each.get("MetricName") == name)
        for name in ("OutboxAge", "OutboxParked")
    )
    assert (late["Threshold"], late["TreatMissingData"], late["EvaluationPeriods"]) == (
        300,
        "breaching",
        3,
    )
    assert (parked["Threshold"], parked["TreatMissingData"]) == (1, "notBreaching")
    for each in (late, parked):
        assert "docs/outbox.md#when-something-fails" in each["AlarmDescription"]
    assert "## When something fails" in (DOCS / "outbox.md").read_text()
