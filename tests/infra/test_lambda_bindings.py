"""Functions of any language that run jobs: what the construct makes of them, and allows."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from aws_cdk import App, Duration, Stack
from aws_cdk import aws_ecs as ecs
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_secretsmanager as secretsmanager

from ojs_aws.cdk import (
    JobBackend,
    JobBackendProps,
    LambdaBindings,
    LambdaBindingsProps,
    LambdaTarget,
)
from ojs_aws.cli.init import Kind, files_of
from ojs_aws.domain.bindings import read_bindings
from tests.infra.conftest import NO_BUNDLING, Synthesised
from tests.infra.templates import of_stack
from tests.infra.test_nag import findings

CHECKOUT: Final = Path(__file__).parents[2]
PAGE: Final = (CHECKOUT / "docs" / "lambda-bindings.md").read_text("utf-8")
DISPATCHER = "functions.dispatcher.handler.handler"
SETTLER = "functions.settler.handler.handler"


def shop(stack: Stack, name: str = "Shop", **given: Any) -> lambda_.Function:
    """A function of somebody's own, in Node."""
    return lambda_.Function(
        stack,
        name,
        runtime=lambda_.Runtime.NODEJS_22_X,
        handler="index.handler",
        code=lambda_.Code.from_inline("exports.handler = async ({ job }) => job.args"),
        **{"timeout": Duration.seconds(45), **given},
    )


def defined(**given: Any) -> Stack:
    """A stack with a backend, whose e-mails a function runs."""
    stack = Stack(App(context=NO_BUNDLING), "S")
    backend = JobBackend(stack, "Jobs", JobBackendProps(queues=["email", "media"]))
    options: dict[str, Any] = {"queues": ["email"]} | given
    target = LambdaTarget(function=shop(stack), **options)
    props = LambdaBindingsProps(backend=backend, targets={"shop": target})
    LambdaBindings(stack, "Bindings", props)
    return stack


def function(template: Synthesised, handler: str) -> dict[str, Any]:
    (found,) = [each for each in template.of("AWS::Lambda::Function") if each["Handler"] == handler]
    return dict(found)


def test_the_alias_alone_is_invoked_once_with_its_outcomes_to_a_queue() -> None:
    """Other callers of the function keep their settings."""
    template = of_stack(defined(max_event_age_s=90))
    (settings,) = [
        each
        for each in template.of("AWS::Lambda::EventInvokeConfig")
        if "OnSuccess" in each.get("DestinationConfig", {})
    ]
    assert settings["Qualifier"] != "$LATEST"
    assert (settings["MaximumRetryAttempts"], settings["MaximumEventAgeInSeconds"]) == (0, 90)
    wanted = settings["DestinationConfig"]
    assert wanted["OnSuccess"] == wanted["OnFailure"]
    (alias,) = template.of("AWS::Lambda::Alias")
    assert alias["Name"] == "ojs-shop"


def test_a_reservation_outlives_the_event_and_the_function() -> None:
    """And the queue hides messages for as long."""
    template = of_stack(defined(max_event_age_s=90))
    written = function(template, DISPATCHER)["Environment"]["Variables"]["OJS_BINDINGS"]
    text = "".join(
        each if isinstance(each, str) else "arn:alias" for each in written["Fn::Join"][1]
    )
    (binding,) = read_bindings(text)
    assert (binding.name, binding.queues, binding.types) == ("shop", ["email"], ["*"])
    assert binding.reservation_s == 90 + 45 + 30
    assert "alias" in binding.target
    (queue,) = [
        each for each in template.of("AWS::SQS::Queue") if each.get("QueueName") == "ojs__email"
    ]
    assert queue["VisibilityTimeout"] >= binding.reservation_s


def test_the_dispatcher_may_invoke_this_alias_and_nothing_else() -> None:
    """And it may claim jobs of its queues; the settler may invoke and claim nothing."""
    template = of_stack(defined())
    statements = [
        statement
        for policy in template.of("AWS::IAM::Policy")
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Action"] == "lambda:InvokeFunction"
    ]
    (alias,) = template.of("AWS::Lambda::Alias")
    named = [each for each in statements if each["Resource"] == {"Ref": alias_id(template)}]
    assert len(named) == 1
    assert "lambda:InvokeFunction" in template.actions(DISPATCHER)
    assert "sqs:ReceiveMessage" in template.actions(DISPATCHER)
    settler = template.actions(SETTLER)
    assert "lambda:InvokeFunction" not in settler
    assert "dynamodb:DeleteItem" not in settler
    assert alias["FunctionVersion"]


def alias_id(template: Synthesised) -> str:
    (name,) = [
        name
        for name, each in template.document["Resources"].items()
        if each["Type"] == "AWS::Lambda::Alias"
    ]
    return str(name)


def test_operators_may_bind_these_functions_alone() -> None:
    """The API knows their names, and no ARN; nothing else of the backend changes."""
    template = of_stack(defined(types=["email.*"]))
    operator = function(template, "functions.operator.handler.handler")
    allowed = json.loads(operator["Environment"]["Variables"]["OJS_BINDING_TARGETS"])
    assert allowed == {"shop": {"queues": ["email"], "types": ["email.*"]}}
    named = [
        each["Handler"]
        for each in template.of("AWS::Lambda::Function")
        if "OJS_BINDING_TARGETS" in each.get("Environment", {}).get("Variables", {})
    ]
    assert named == ["functions.operator.handler.handler"]


def test_dispatcher_and_api_know_the_config_of_a_target() -> None:
    """The same one; what is not said is left out."""
    said = {"non_retryable_errors": ["CardError"], "job_timeout_s": 20, "max_jobs": 9}
    template = of_stack(defined(**said))
    retry = {"non_retryable_errors": ["CardError"]}
    config = {"max_concurrency": 9, "timeout_ms": 20_000, "retry": retry}
    dispatcher = function(template, DISPATCHER)["Environment"]["Variables"]
    parts = dispatcher["OJS_BINDINGS"]["Fn::Join"][1]
    (binding,) = read_bindings("".join(each if isinstance(each, str) else "arn" for each in parts))
    assert binding.config.render() == config
    operator = function(template, "functions.operator.handler.handler")["Environment"]["Variables"]
    assert json.loads(operator["OJS_BINDING_TARGETS"])["shop"]["config"] == config
    assert "config" not in str(function(of_stack(defined()), DISPATCHER)["Environment"])


def test_events_by_reference_are_deleted_after_a_day() -> None:
    """Also their earlier versions; and once, however many constructs bind functions."""
    stack = Stack(App(context=NO_BUNDLING), "S")
    backend = JobBackend(stack, "Jobs", JobBackendProps(queues=["one", "two"]))
    for name in ("one", "two"):
        target = LambdaTarget(function=shop(stack, name), queues=[name])
        LambdaBindings(
            stack, f"B{name}", LambdaBindingsProps(backend=backend, targets={name: target})
        )
    rules = [
        rule
        for each in of_stack(stack).of("AWS::S3::Bucket")
        for rule in each["LifecycleConfiguration"]["Rules"]
        if rule.get("Prefix") == "events/"
    ]
    assert rules == [
        {
            "ExpirationInDays": 1,
            "NoncurrentVersionExpiration": {"NoncurrentDays": 1},
            "Prefix": "events/",
            "Status": "Enabled",
        }
    ]


def test_both_triggers_report_messages_one_by_one() -> None:
    """A pause of the queue switches the dispatcher's off, by its tag."""
    template = of_stack(defined())
    mine = [
        each
        for each in template.of("AWS::Lambda::EventSourceMapping")
        if "Bindings" in json.dumps(each["FunctionName"])
    ]
    assert [each["FunctionResponseTypes"] for each in mine] == [["ReportBatchItemFailures"]] * 2
    assert sum("Tags" in each for each in mine) == 1


def test_a_chain_of_retries_is_not_stopped() -> None:
    """It passes dispatcher, function and settler again each time."""
    template = of_stack(defined())
    for handler in (DISPATCHER, SETTLER, "index.handler"):
        assert function(template, handler)["RecursiveLoop"] == "Allow"


def test_a_function_that_names_no_timeout_has_that_of_lambda() -> None:
    """Three seconds."""
    stack = Stack(App(context=NO_BUNDLING), "S")
    backend = JobBackend(stack, "Jobs", JobBackendProps(queues=["email"]))
    target = LambdaTarget(function=shop(stack, timeout=None), queues=["email"])
    LambdaBindings(stack, "B", LambdaBindingsProps(backend=backend, targets={"shop": target}))
    variables = function(of_stack(stack), DISPATCHER)["Environment"]["Variables"]
    assert '"reservation_s": 93' in json.dumps(variables["OJS_BINDINGS"]).replace("\\", "")


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"queues": ["other"]}, "no queue 'other'"),
        ({"queues": []}, "needs queues, and its types"),
        ({"types": "email.*"}, "needs queues, and its types"),
        ({"types": ["*.send"]}, "at its end"),
        ({"max_event_age_s": 59}, "between 60 and 21600"),
    ],
)
def test_what_cannot_work_is_refused_at_synthesis(given: dict[str, Any], problem: str) -> None:
    """Saying what can."""
    with pytest.raises(ValueError, match=problem):
        defined(**given)


@pytest.mark.parametrize(
    ("targets", "problem"),
    [
        ([], "a target at least"),
        (["no-name"], "letters and digits"),
        (["one", "two"], r"both serve '\*' of the queue 'email'"),
    ],
)
def test_targets_have_names_and_types_of_their_own(targets: list[str], problem: str) -> None:
    """So that each job has one function."""
    stack = Stack(App(context=NO_BUNDLING), "S")
    backend = JobBackend(stack, "Jobs", JobBackendProps(queues=["email"]))
    made = {name: LambdaTarget(function=shop(stack, name), queues=["email"]) for name in targets}
    with pytest.raises(ValueError, match=problem):
        LambdaBindings(stack, "B", LambdaBindingsProps(backend=backend, targets=made))


def test_the_stack_of_the_page_can_be_deployed(tmp_path: Path) -> None:
    """With its function in Node."""
    (text,) = re.findall(r"<!-- file: bindings_stack.py -->\n```python\n(.*?)```", PAGE, re.DOTALL)
    folder = tmp_path / "mailer"
    folder.mkdir()
    (tmp_path / "stack.py").write_text(
        text.replace('from_asset("mailer")', f'from_asset("{folder}")')
    )
    program = runpy.run_path(str(tmp_path / "stack.py"))
    app = App(context=NO_BUNDLING)
    backend = JobBackend(Stack(app, "Jobs"), "Jobs", JobBackendProps(queues=["email"]))
    template = of_stack(program["Shop"](app, "Shop", backend))
    (alias,) = template.of("AWS::Lambda::Alias")
    assert alias["Name"] == "ojs-mailer"


def test_the_aws_solutions_pack_accepts_the_bindings() -> None:
    """With the exceptions of every function of the backend; the user's own function is not ours."""
    found = findings(defined())
    assert [each for each in found if "/Shop/" not in each] == []


@pytest.mark.slow
def test_a_project_of_the_template_is_a_backend_and_a_bound_function(tmp_path: Path) -> None:
    """`ojs-aws init --template node-lambda`, as `make deploy` synthesises it."""
    for path, text in files_of(Kind.NODE_LAMBDA, "my-shop"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    settings = {"CDK_OUTDIR": str(tmp_path / "out"), "CDK_CONTEXT_JSON": json.dumps(NO_BUNDLING)}
    environ = {**os.environ, **settings, "PYTHONPATH": str(CHECKOUT)}
    subprocess.run([sys.executable, "app.py"], cwd=tmp_path, env=environ, check=True)
    made = json.loads((tmp_path / "out" / "MyShop.template.json").read_text())
    resources = list(made["Resources"].values())
    (node,) = [
        each["Properties"]
        for each in resources
        if each["Properties"].get("Runtime", "").startswith("nodejs")
    ]
    assert (node["Handler"], node["Runtime"]) == ("index.handler", "nodejs22.x")
    (alias,) = [each["Properties"] for each in resources if each["Type"] == "AWS::Lambda::Alias"]
    assert alias["Name"] == "ojs-mailer"
    assert {"ApiUrl", "NextCommand"} <= {*made["Outputs"]}


# ------------------------------------------------------------------- reports while it runs
def reporting(*, knows_secret: bool = True) -> Stack:
    """A stack whose functions report on their jobs while they run."""
    stack = Stack(App(context=NO_BUNDLING), "S")
    secret = ecs.Secret.from_secrets_manager(secretsmanager.Secret(stack, "Key"))
    known = [secret] if knows_secret else []
    backend = JobBackend(stack, "Jobs", JobBackendProps(queues=["email"], report_secrets=known))
    target = LambdaTarget(function=shop(stack), queues=["email"])
    props = LambdaBindingsProps(backend=backend, targets={"shop": target}, signing_secret=secret)
    LambdaBindings(stack, "Bindings", props)
    return stack


def test_functions_may_report_to_an_api_that_knows_the_secret() -> None:
    """The dispatcher reads it, and nobody else beside the API."""
    template = of_stack(reporting())
    variables = function(template, DISPATCHER)["Environment"]["Variables"]
    assert "OJS_SIGNING_SECRET" in str(variables["OJS_SECRETS"])
    assert "execute-api" in str(variables["OJS_REPORT_URL"])
    assert "secretsmanager:GetSecretValue" in template.actions(DISPATCHER)
    assert "secretsmanager:GetSecretValue" not in template.actions(SETTLER)
    assert not {"OJS_SECRETS", "OJS_REPORT_URL"} & {
        *function(template, SETTLER)["Environment"]["Variables"]
    }


def test_without_a_secret_a_dispatcher_has_no_rights_to_one() -> None:
    """What is not used is not there."""
    template = of_stack(defined())
    variables = function(template, DISPATCHER)["Environment"]["Variables"]
    assert not {"OJS_SECRETS", "OJS_REPORT_URL"} & {*variables}
    assert "secretsmanager:GetSecretValue" not in template.actions(DISPATCHER)


def test_a_secret_that_the_api_does_not_know_is_refused() -> None:
    """Its tokens would open nothing."""
    with pytest.raises(ValueError, match="report_secrets"):
        reporting(knows_secret=False)
