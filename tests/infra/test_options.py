"""What the stack can be configured for: warm starts, traces, and who hears alarms."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App, Environment, Stack
from aws_cdk import aws_kms as kms
from aws_cdk.assertions import Template

from infra import app as app_module
from infra.app import NAMES, ContextError, make_app
from ojs_aws.cdk import (
    JobBackend,
    JobBackendProps,
    LambdaWorkerFunction,
    LambdaWorkerFunctionProps,
    Provisioned,
    SnapStart,
)
from ojs_aws.cdk.bundle import LOCK, TRACING_LOCK, Target, backend_bundle
from ojs_aws.cdk.job_backend_props import settings_of
from ojs_aws.config import Settings
from tests.infra.conftest import NO_BUNDLING, Synthesised
from tests.infra.templates import of_backend, of_context

API_FUNCTIONS = ("producer", "worker_api", "job_endpoint", "operator", "system", "authorizer")


def test_nothing_is_kept_warm_by_default() -> None:
    """It costs money without a job."""
    stack = of_context()
    assert not stack.of("AWS::Lambda::Alias")
    assert not any("SnapStart" in each for each in stack.of("AWS::Lambda::Function"))


def test_snapshots_are_taken_of_the_versions_that_the_gateway_calls() -> None:
    """Of the API's functions and the authorizer; sweep and stream are never waited for."""
    stack = of_context(start="snapstart", job_endpoint="true")
    for name in API_FUNCTIONS:
        function = stack.function(f"functions.{name}.handler.handler")
        assert function["SnapStart"] == {"ApplyOn": "PublishedVersions"}
    for name in ("tick", "stream"):
        assert "SnapStart" not in stack.function(f"functions.{name}.handler.handler")
    aliases = stack.of("AWS::Lambda::Alias")
    assert [each["Name"] for each in aliases] == ["live"] * len(API_FUNCTIONS)
    assert len(stack.of("AWS::Lambda::Version")) == len(API_FUNCTIONS)
    assert not any("ProvisionedConcurrencyConfig" in each for each in aliases)
    called = [str(each["IntegrationUri"]) for each in stack.of("AWS::ApiGatewayV2::Integration")]
    assert called
    cold = [each for each in called if "Live" not in each]
    assert [each for each in cold if "BackendApiKeys" not in each] == []  # hardly ever called
    (authorizer,) = stack.of("AWS::ApiGatewayV2::Authorizer")
    assert "Live" in str(authorizer["AuthorizerUri"])
    permitted = [str(each["FunctionName"]) for each in stack.of("AWS::Lambda::Permission")]
    # The gateway's; everybody may invoke the job endpoint by its URL, which takes two.
    assert sum("Live" in each for each in permitted) == len(API_FUNCTIONS) + 1


def test_executions_are_provisioned_on_the_alias() -> None:
    """So many of each function."""
    aliases = of_context(start="2", job_endpoint="true").of("AWS::Lambda::Alias")
    assert len(aliases) == len(API_FUNCTIONS)
    for alias in aliases:
        provisioned = alias["ProvisionedConcurrencyConfig"]
        assert provisioned == {"ProvisionedConcurrentExecutions": 2}


@pytest.mark.parametrize("start", [SnapStart(), Provisioned(3)])
def test_a_workers_trigger_invokes_its_warm_alias(start: Any) -> None:
    """Otherwise the unpublished version would run the jobs, cold."""
    scope = Stack(App(context=NO_BUNDLING), "S")
    backend = JobBackend(scope, "Jobs")
    props = LambdaWorkerFunctionProps(
        backend=backend, handler="jobs.handler", queues=["default"], start=start
    )
    LambdaWorkerFunction(scope, "Worker", props)
    stack = Synthesised(Template.from_stack(scope).to_json())
    triggered = [str(each["FunctionName"]) for each in stack.of("AWS::Lambda::EventSourceMapping")]
    assert any("WorkerFunctionLive" in each for each in triggered), triggered


def test_a_runtime_without_snapshots_is_refused_at_synthesis() -> None:
    """AWS would refuse it in the middle of a deployment."""
    scope = Stack(App(context=NO_BUNDLING), "S")
    props = JobBackendProps(start=SnapStart(), target=Target("arm64", "3.11"))
    with pytest.raises(ValueError, match=r"3\.12"):
        JobBackend(scope, "Jobs", props)


def test_alarms_are_mailed_to_who_is_named() -> None:
    """By a topic that only this account's alarms may publish to, over TLS."""
    stack = of_context(alarm_email="ops@example.com")
    (subscription,) = stack.of("AWS::SNS::Subscription")
    assert (subscription["Protocol"], subscription["Endpoint"]) == ("email", "ops@example.com")
    for alarm in stack.of("AWS::CloudWatch::Alarm"):
        assert alarm["AlarmActions"] == alarm["OKActions"] == [subscription["TopicArn"]]
    (policy,) = stack.of("AWS::SNS::TopicPolicy")
    statements = policy["PolicyDocument"]["Statement"]
    (allowed,) = [each for each in statements if each["Effect"] == "Allow"]
    assert allowed["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert allowed["Condition"] == {
        "StringEquals": {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}
    }
    assert [each["Effect"] for each in statements if each is not allowed] == ["Deny"]


def test_alarms_go_to_a_topic_of_ones_own() -> None:
    """Which is left as it is."""
    arn = "arn:aws:sns:eu-west-1:123456789012:oncall"
    stack = of_context(alarm_topic=arn)
    assert {str(each["AlarmActions"]) for each in stack.of("AWS::CloudWatch::Alarm")} == {
        str([arn])
    }
    assert not stack.of("AWS::SNS::Topic")


KEY = "arn:aws:kms:eu-west-1:123456789012:key/6ccd1d07-6a5a-4f4c-8d8e-2f4a2b0c7f11"


def test_a_key_of_ones_own_encrypts_table_and_buckets() -> None:
    """In the key's own region, which the table's definition has to name."""
    stack = of_context(encryption_key=KEY, export_days="1")
    (table,) = stack.of("AWS::DynamoDB::GlobalTable")
    assert table["SSESpecification"] == {"SSEEnabled": True, "SSEType": "KMS"}
    (replica,) = table["Replicas"]
    assert replica["Region"] == "eu-west-1"
    assert replica["SSESpecification"] == {"KMSMasterKeyId": KEY}
    buckets = stack.of("AWS::S3::Bucket")
    assert len(buckets) == 2
    for bucket in buckets:
        assert f"'KMSMasterKeyID': '{KEY}'" in str(bucket["BucketEncryption"])


def test_the_table_can_have_a_key_that_aws_owns() -> None:
    """Which is DynamoDB's own default, so that the table names no key; and not beside another."""
    for stack in (of_context(encryption_key="aws-owned"), of_backend(has_aws_owned_key=True)):
        (table,) = stack.of("AWS::DynamoDB::GlobalTable")
        assert table["SSESpecification"] == {"SSEEnabled": False}
    scope = Stack(App(context=NO_BUNDLING), "S", env=Environment(region="eu-west-1"))
    props = JobBackendProps(
        encryption_key=kms.Key.from_key_arn(scope, "Key", KEY), has_aws_owned_key=True
    )
    with pytest.raises(ValueError, match="has_aws_owned_key"):
        JobBackend(scope, "Jobs", props)


def test_a_key_of_ones_own_needs_a_stack_with_a_region() -> None:
    """The CDK would say so at the end of the synthesis, in words about replicas."""
    scope = Stack(App(context=NO_BUNDLING), "S")
    props = JobBackendProps(encryption_key=kms.Key.from_key_arn(scope, "Key", KEY))
    with pytest.raises(ValueError, match=r"env=Environment\(region=\.\.\.\)"):
        JobBackend(scope, "Jobs", props)


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ({"tracing": "loud"}, "tracing"),
        ({"demo": "flase"}, "demo"),
        ({"allow_undeclared_queues": "flase"}, "allow_undeclared_queues"),
        ({"start": "hot"}, "start"),
        ({"start": "0"}, "start"),
        ({"stream_window_s": "301"}, "stream_window_s"),
        ({"ordering_shards": "mail=65"}, "ordering_shards"),
        ({"ordering_shards": "mail"}, "ordering_shards"),
        ({"stream_window_s": "1.5"}, "stream_window_s"),
        ({"alarm_email": "nobody"}, "alarm_email"),
        ({"alarm_email": "a@b.c", "alarm_topic": "arn:aws:sns:x:1:y"}, "alarm_topic"),
        ({"restored_table": "again"}, "restored_stream"),
        ({"encryption_key": "alias/mine"}, "encryption_key"),
        ({"auth": "iam", "sign_in_scopes": "openid"}, "sign_in_client"),
    ],
)
def test_options_that_cannot_be_used_are_refused(context: dict[str, str], message: str) -> None:
    """In words that name the option."""
    with pytest.raises(ContextError, match=message):
        make_app(App(context={**NO_BUNDLING, **context}))


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("queue", "queues"),
        ("alow_undeclared_queues", "allow_undeclared_queues"),
        ("stream-window-s", "stream_window_s"),
        ("Demo", "demo"),
        ("web_dashbord", "web_dashboard"),
    ],
)
def test_a_misspelt_name_of_the_context_is_refused_with_the_nearest(name: str, meant: str) -> None:
    """It would be ignored, and the stack be deployed with the default."""
    with pytest.raises(ContextError, match=f"{name!r}.*Did you mean {meant!r}"):
        make_app(App(context={**NO_BUNDLING, name: "true"}))


def test_names_of_the_context_that_are_not_ours_are_left_alone() -> None:
    """The CDK has its own, and so may who extends the app."""
    others = {"@aws-cdk/aws-sqs:queues": True, "availability-zones:account=1": [], "team": "shop"}
    make_app(App(context={**NO_BUNDLING, **others}))


def test_the_app_knows_each_name_that_it_asks_the_context_for() -> None:
    """Or a right name that is like another one would be refused."""
    asked = re.findall(r'said\(\s*"(\w+)"', Path(app_module.__file__).read_text("utf-8"))
    assert {*asked} == NAMES


def test_nothing_is_traced_by_default() -> None:
    """Traces cost money, and starts longer: no right to send them, and no packages for it."""
    stack = of_context()
    for function in stack.of("AWS::Lambda::Function"):
        assert "TracingConfig" not in function
        assert "OJS_TRACING" not in function["Environment"]["Variables"]
        assert not any(each.startswith("xray:") for each in stack.actions(function["Handler"]))
    assert backend_bundle(Target()).lock == LOCK


def test_traced_functions_may_send_traces_and_nothing_else_more() -> None:
    """All of them, the demo worker too; X-Ray knows no resources for these two actions."""
    stack, plain = of_context(tracing="true", export_days="7"), of_context(export_days="7")
    xray = frozenset({"xray:PutTelemetryRecords", "xray:PutTraceSegments"})
    for function in stack.of("AWS::Lambda::Function"):
        handler = function["Handler"]
        assert function["TracingConfig"] == {"Mode": "Active"}
        assert function["Environment"]["Variables"]["OJS_TRACING"] == "1"
        assert stack.actions(handler) - plain.actions(handler) == xray
        (where,) = [resource for actions, resource in stack.statements(handler) if actions & xray]
        assert where == "*"
        assert {actions for actions, _ in stack.statements(handler) if actions & xray} == {xray}


def test_the_bundle_of_a_traced_function_has_the_packages_for_it() -> None:
    """Those of every function, and X-Ray's; both locks are made together."""
    bundle = backend_bundle(Target(), tracing=True)
    assert bundle.lock == TRACING_LOCK
    more = TRACING_LOCK.read_text("utf-8")
    assert "aws-xray-sdk==" in more
    assert "aws-xray-sdk==" not in LOCK.read_text("utf-8")


@pytest.mark.parametrize("wanted", [True, False])
def test_a_worker_is_traced_as_it_says_not_as_its_backend(wanted: bool) -> None:
    """Where it says nothing, it is as its backend."""
    scope = Stack(App(context=NO_BUNDLING), "S")
    backend = JobBackend(scope, "Jobs", JobBackendProps(tracing=not wanted))
    props = LambdaWorkerFunctionProps(
        backend=backend, handler="jobs.handler", queues=["default"], tracing=wanted
    )
    LambdaWorkerFunction(scope, "Worker", props)
    function = Synthesised(Template.from_stack(scope).to_json()).function("jobs.handler")
    assert ("TracingConfig" in function) is wanted


@pytest.mark.parametrize(
    ("level", "at_lambda", "in_python"),
    [
        ("DEBUG", "DEBUG", "DEBUG"),
        ("INFO", "INFO", "INFO"),
        ("WARNING", "INFO", "WARNING"),
        ("error", "INFO", "ERROR"),
    ],
)
def test_no_log_level_makes_lambda_drop_metrics(level: str, at_lambda: str, in_python: str) -> None:
    """Lambda takes metrics for lines of INFO, and drops those below the function's level."""
    scope = Stack(App(context=NO_BUNDLING), "S")
    backend = JobBackend(scope, "Jobs", JobBackendProps(log_level=level))
    props = LambdaWorkerFunctionProps(
        backend=backend, handler="jobs.handler", queues=["default"], log_level=level
    )
    LambdaWorkerFunction(scope, "Worker", props)
    functions = [
        each
        for each in Synthesised(Template.from_stack(scope).to_json()).of("AWS::Lambda::Function")
        if "LoggingConfig" in each
    ]
    assert len(functions) > len(API_FUNCTIONS)
    for function in functions:
        assert function["LoggingConfig"]["ApplicationLogLevel"] == at_lambda
        of_platform = "INFO" if level == "DEBUG" else "WARN"
        assert function["LoggingConfig"]["SystemLogLevel"] == of_platform
        assert function["Environment"]["Variables"]["POWERTOOLS_LOG_LEVEL"] == in_python


def test_an_unknown_log_level_is_refused_with_those_that_there_are() -> None:
    """At synthesis."""
    with pytest.raises(ValueError, match=r"LOUD.*WARNING"):
        JobBackend(Stack(App(context=NO_BUNDLING), "S"), "Jobs", JobBackendProps(log_level="LOUD"))


def test_wide_queues_are_declared_by_a_property_or_the_context() -> None:
    """All functions get their lines, which bound the setting of the queue, and Lambda workers."""
    lines = {"mail": 16, "images": 8}
    backend = JobBackend(
        Stack(App(context=NO_BUNDLING), "S"), "B", JobBackendProps(ordering_shards=lines)
    )
    value = backend.environment["OJS_WIDE_QUEUES"]
    assert value == "images=8,mail=16"
    assert dict(Settings.from_env({"OJS_WIDE_QUEUES": value}).wide_queues) == lines
    stack = of_context(ordering_shards="images=8,mail=16")
    functions = stack.of("AWS::Lambda::Function")
    found = [each["Environment"]["Variables"] for each in functions if "Environment" in each]
    shown = [each["OJS_WIDE_QUEUES"] for each in found if "OJS_TABLE" in each]
    assert shown == [value] * len(shown)
    assert len(shown) >= len(API_FUNCTIONS)


def test_settings_may_declare_wide_queues_as_before() -> None:
    """Without either there is no such variable."""
    wide = {"OJS_WIDE_QUEUES": "mail=16"}
    assert settings_of(JobBackendProps(settings=wide)) == wide
    assert settings_of(JobBackendProps()) == {}


@pytest.mark.parametrize(
    ("props", "named"),
    [
        ({"ordering_shards": {"mail": 65}}, "2 to 64"),
        ({"ordering_shards": {"mail": 1}}, "2 to 64"),
        ({"ordering_shards": {"mail": 2}, "settings": {"OJS_WIDE_QUEUES": "a=2"}}, "not in both"),
        ({"ordering_shards": {"mail": 2}, "allow_undeclared_queues": False}, "Declare .* mail"),
    ],
)
def test_wide_queues_that_cannot_be_are_refused(props: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        JobBackend(Stack(App(context=NO_BUNDLING), "S"), "B", JobBackendProps(**props))


def test_a_declared_queue_may_be_wide_where_no_others_may_exist() -> None:
    props = JobBackendProps(
        queues=["mail"], ordering_shards={"mail": 2}, allow_undeclared_queues=False
    )
    assert settings_of(props) == {"OJS_WIDE_QUEUES": "mail=2"}
