"""``ojs-aws preflight``: each thing that AWS would refuse, and the way out, before a deployment."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import boto3
import httpx
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from ojs_aws.account_limits import DISCOVERY_S, LEAST_UNRESERVED
from ojs_aws.adapters.account import Account
from ojs_aws.adapters.stacks import Stacks
from ojs_aws.cdk.published_template import rendered
from ojs_aws.cli.deployment.doctor import Finding, Verdict
from ojs_aws.cli.deployment.plans import (
    Answer,
    PlannedStacks,
    ask_issuer,
    planned_stack,
    planned_stacks,
)
from ojs_aws.cli.deployment.preflight import checked
from ojs_aws.topology import OWNER_TAG
from tests.commands import run_command

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

OK, LOOK, BAD = Verdict.OK, Verdict.LOOK, Verdict.BAD
REGION = "eu-west-1"
NUMBER = "123456789012"
ISSUER = "https://issuer.example.com/"
DOCUMENT = {"issuer": ISSUER, "jwks_uri": "https://issuer.example.com/keys"}


def refused(code: str) -> ClientError:
    """An answer of AWS that refuses a call."""
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "Any")


class Cloud:
    """The calls of Lambda and CloudFormation that moto lacks.

    :ivar limit: the account's executions.
    :ivar unreserved: those that no function has set aside.
    :ivar owners: the stacks of queues, by their names.
    :ivar reserved: executions set aside, by functions of the stack ``Ojs``.
    :ivar statuses: of functions that are not there.
    """

    def __init__(self) -> None:
        self.limit = 1000
        self.unreserved = 1000
        self.owners: dict[str, str] = {}
        self.reserved: dict[str, int] = {}
        self.statuses: dict[str, str] = {}
        self.is_denied = False

    def get_account_settings(self) -> Any:
        if self.is_denied:
            raise refused("AccessDeniedException")
        limits = {
            "ConcurrentExecutions": self.limit,
            "UnreservedConcurrentExecutions": self.unreserved,
        }
        return {"AccountLimit": limits}

    def get_function_concurrency(self, FunctionName: str) -> Any:  # noqa: N803 - AWS's name
        if FunctionName in self.statuses:
            raise refused("ResourceNotFoundException")
        count = self.reserved[FunctionName]
        return {"ReservedConcurrentExecutions": count} if count else {}

    def list_stack_resources(self, StackName: str, **more: str) -> Any:  # noqa: N803 - AWS's name
        own = [name for name, owner in self.owners.items() if owner == "Ojs"]
        names = [("Lambda::Function", name) for name in self.reserved]
        names += [("SQS::Queue", f"https://sqs/1/{name}") for name in own]
        if StackName != "Ojs" or not names:
            raise refused("ValidationError")
        at = int(more.get("NextToken", "0"))
        kind, physical = names[at]
        status = self.statuses.get(physical, "CREATE_COMPLETE")
        found = {"ResourceType": f"AWS::{kind}", "ResourceStatus": status}
        if status != "CREATE_FAILED":
            found["PhysicalResourceId"] = physical
        page: dict[str, Any] = {"StackResourceSummaries": [found]}
        return page if at + 1 == len(names) else {**page, "NextToken": str(at + 1)}

    def describe_stacks(self, **_: str) -> Any:
        raise refused("ValidationError")

    def describe_stack_resources(self, PhysicalResourceId: str) -> Any:  # noqa: N803 - AWS's name
        owner = self.owners.get(PhysicalResourceId.rpartition("/")[2])
        if owner is None:
            raise refused("ValidationError")
        return {"StackResources": [{"StackName": owner}]}


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Any:
    """An account: moto's, and what moto lacks."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    with mock_aws():
        yield Cloud()


def account(cloud: Cloud, region: str = REGION) -> Account:
    """The account that is looked at."""
    found: Any = cloud
    identity: Any = boto3.client("sts", region_name=region)
    sqs = boto3.client("sqs", region_name=region)
    return Account(region=region, identity=identity, functions=found, sqs=sqs, stacks=found)


def planned(account: str = "", **resources: Any) -> PlannedStacks:
    """A stack of these resources: their types without ``AWS::``, by logical id."""
    template = {
        "Resources": {
            name: {"Type": f"AWS::{each['kind']}", "Properties": each["has"]}
            for name, each in resources.items()
        }
    }
    return PlannedStacks(account=account, region="", names=["Ojs"], templates=[template])


def of(kind: str, **properties: Any) -> dict[str, Any]:
    """A resource of a template."""
    return {"kind": kind, "has": properties}


def well(_: str) -> Answer:
    """The answer of an issuer that is as it should be."""
    return Answer(seconds=0.2, status=200, body=json.dumps(DOCUMENT).encode())


def results(
    plan: PlannedStacks,
    cloud: Cloud,
    check: str,
    ask: Callable[[str], Answer] = well,
    region: str = REGION,
) -> list[Finding]:
    """What a check of this name finds."""
    return [each for each in checked(plan, account(cloud, region), ask) if each.check == check]


def result(*arguments: Any, **more: Any) -> Finding:
    """The one thing that a check of this name finds."""
    (found,) = results(*arguments, **more)
    return found


def test_the_account_and_the_region_are_named(cloud: Cloud) -> None:
    """And another account than the stack's is a problem."""
    found = result(planned(), cloud, "account")
    assert found.verdict is OK
    assert found.text == f"{NUMBER}, {REGION}"
    assert result(planned(account=NUMBER), cloud, "account").verdict is OK
    assert "999999999999" in result(planned(account="999999999999"), cloud, "account").hint


def test_a_url_in_a_region_without_urls_is_a_problem(cloud: Cloud) -> None:
    """The way out is the gateway; where none is planned, any region is right."""
    plan = planned(Url=of("Lambda::Url"))
    found = result(plan, cloud, "function URLs", region="eu-central-2")
    assert "job_endpoint=False" in found.hint
    assert result(plan, cloud, "function URLs").verdict is OK
    assert result(planned(), cloud, "function URLs", region="eu-central-2").verdict is OK


def warm(executions: int, reserved: int = 0) -> PlannedStacks:
    """A function whose executions are provisioned, or set aside, or both."""
    more = {"ReservedConcurrentExecutions": reserved} if reserved else {}
    provisioned = {"ProvisionedConcurrentExecutions": executions}
    return planned(
        Api=of("Lambda::Function", **more),
        Live=of(
            "Lambda::Alias", FunctionName={"Ref": "Api"}, ProvisionedConcurrencyConfig=provisioned
        ),
    )


def test_a_new_account_can_provision_no_execution(cloud: Cloud) -> None:
    """Lambda leaves all of its ten to functions without a reservation."""
    cloud.limit = cloud.unreserved = 10
    found = result(warm(1), cloud, "reserved executions")
    assert "1 are planned, of 0" in found.text
    assert "L-B99A9384" in found.hint
    assert "job_endpoint_concurrency" in found.hint
    assert result(planned(), cloud, "reserved executions").verdict is OK


@pytest.mark.parametrize(("asked", "verdict"), [(899, OK), (900, OK), (901, BAD)])
def test_a_hundred_executions_stay_without_a_reservation(
    cloud: Cloud, asked: int, verdict: Verdict
) -> None:
    """What other functions have set aside counts, too."""
    cloud.limit, cloud.unreserved = 2000, 900 + LEAST_UNRESERVED
    assert result(warm(asked), cloud, "reserved executions").verdict is verdict


def test_provisioned_executions_of_a_reservation_count_once(cloud: Cloud) -> None:
    """They are taken out of what is set aside for the function."""
    cloud.unreserved = 5 + LEAST_UNRESERVED
    assert result(warm(3, reserved=5), cloud, "reserved executions").verdict is OK
    assert result(warm(3, reserved=6), cloud, "reserved executions").verdict is BAD


def test_a_stack_that_is_deployed_keeps_what_it_has_set_aside(cloud: Cloud) -> None:
    """An upgrade does not take it a second time; functions on each page are counted."""
    cloud.unreserved = LEAST_UNRESERVED
    assert result(warm(0, reserved=50), cloud, "reserved executions").verdict is BAD
    cloud.reserved = {"none": 0, "some": 20, "more": 30}
    assert result(warm(0, reserved=50), cloud, "reserved executions").verdict is OK
    assert result(warm(0, reserved=51), cloud, "reserved executions").verdict is BAD


def test_what_a_failed_deployment_left_out_reserves_nothing(cloud: Cloud) -> None:
    """The list of a stack names resources that were never made, or that are deleted again."""
    cloud.unreserved = LEAST_UNRESERVED
    cloud.reserved = {"unmade": 9, "deleted": 9, "there": 20}
    cloud.statuses = {"unmade": "CREATE_FAILED", "deleted": "DELETE_COMPLETE"}
    assert result(warm(0, reserved=20), cloud, "reserved executions").verdict is OK
    assert result(warm(0, reserved=21), cloud, "reserved executions").verdict is BAD


def triggers(*most: int | None) -> PlannedStacks:
    """Triggers of workers, and those of the stream and of cron jobs, which have no bound here."""
    tags = [{"Key": OWNER_TAG, "Value": "ojs__"}]
    scaled = [{"ScalingConfig": {"MaximumConcurrency": each}} if each else {} for each in most]
    named: dict[str, Any] = {
        f"T{at}": of("Lambda::EventSourceMapping", Tags=tags, **each)
        for at, each in enumerate(scaled)
    }
    return planned(Own=of("Lambda::EventSourceMapping"), **named)


@pytest.mark.parametrize(
    ("most", "verdict"), [((100,), OK), ((100, 109), OK), ((100, 110), LOOK), ((None,), LOOK)]
)
def test_workers_that_may_take_all_executions_are_a_problem(
    cloud: Cloud, most: tuple[int | None, ...], verdict: Verdict
) -> None:
    """The API's functions share the limit; the default of a worker is more than a new one."""
    cloud.limit = 210
    found = result(triggers(*most), cloud, "workers")
    assert found.verdict is verdict
    assert verdict is OK or "max_concurrency" in found.hint


@pytest.mark.parametrize(("limit", "verdict"), [(10, LOOK), (799, LOOK), (800, OK)])
def test_an_alarm_above_the_limit_never_rings(cloud: Cloud, limit: int, verdict: Verdict) -> None:
    """It would ring at 800 of ten executions."""
    cloud.limit = limit
    plan = planned(
        Near=of("CloudWatch::Alarm", MetricName="ConcurrentExecutions", Threshold=800),
        Other=of("CloudWatch::Alarm", MetricName="Errors", Threshold=3000),
    )
    found = result(plan, cloud, "concurrency alarm")
    assert found.verdict is verdict
    assert verdict is OK or f"concurrency_alarm to {limit * 4 // 5}" in found.hint


def tokens(issuer: object = ISSUER) -> PlannedStacks:
    """An authorizer of tokens, and one that is a function."""
    jwt = {"Audience": ["ojs"], "Issuer": issuer}
    return planned(
        Tokens=of("ApiGatewayV2::Authorizer", JwtConfiguration=jwt),
        Keys=of("ApiGatewayV2::Authorizer", AuthorizerType="REQUEST"),
    )


def test_an_issuer_that_answers_in_time_is_as_it_should_be(cloud: Cloud) -> None:
    """It is asked for the document at its well-known place."""
    asked = []

    def ask(url: str) -> Answer:
        asked.append(url)
        return well(url)

    assert result(tokens(), cloud, "issuer", ask).verdict is OK
    assert asked == ["https://issuer.example.com/.well-known/openid-configuration"]
    assert results(planned(), cloud, "issuer") == []
    assert results(tokens({"Ref": "Pool"}), cloud, "issuer") == []


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(seconds=DISCOVERY_S + 0.1, status=200, body=b"{}"), "after 1.6 s"),
        (Answer(seconds=0.1), "answered nothing"),
        (Answer(seconds=0.1, status=404), "HTTP 404"),
        (Answer(seconds=0.1, status=200, body=b"<html>"), "without keys"),
        (Answer(seconds=0.1, status=200, body=b'["a"]'), "without keys"),
        (Answer(seconds=0.1, status=200, body=b'{"issuer": "x"}'), "without keys"),
        (
            Answer(
                seconds=0.1,
                status=200,
                body=json.dumps({**DOCUMENT, "issuer": ISSUER[:-1]}).encode(),
            ),
            "calls itself https://issuer.example.com",
        ),
    ],
)
def test_an_issuer_that_a_deployment_would_fail_at_is_a_problem(
    cloud: Cloud, answer: Answer, said: str
) -> None:
    """Too slow, not there, without keys, or of another name than its tokens."""
    found = result(tokens(), cloud, "issuer", lambda _: answer)
    assert said in found.text
    assert found.hint


def test_an_issuer_may_take_exactly_as_long_as_it_is_allowed(cloud: Cloud) -> None:
    """One and a half seconds."""
    body = json.dumps(DOCUMENT).encode()
    answer = Answer(seconds=DISCOVERY_S, status=200, body=body)
    assert result(tokens(), cloud, "issuer", lambda _: answer).verdict is OK


def test_the_time_of_an_issuer_is_that_of_its_whole_answer() -> None:
    """By the clock; an issuer that nobody reaches has no status."""
    times = iter([10.0, 11.25, 20.0, 20.5])
    clock = times.__next__

    def unreachable(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("no", request=request)

    answering = httpx.MockTransport(lambda _: httpx.Response(200, json=DOCUMENT))
    found = ask_issuer(ISSUER, transport=answering, clock=clock)
    assert (found.seconds, found.status) == (1.25, 200)
    assert json.loads(found.body) == DOCUMENT
    none = ask_issuer(ISSUER, transport=httpx.MockTransport(unreachable), clock=clock)
    assert none == Answer(seconds=0.5)


def test_names_of_queues_that_others_have_are_a_problem(cloud: Cloud) -> None:
    """Another stack's, or nobody's; those of the stack itself and free ones are none."""
    sqs = boto3.client("sqs", region_name=REGION)
    for name in ("ojs__mine", "ojs__other", "ojs__late"):
        sqs.create_queue(QueueName=name)
    cloud.owners = {"ojs__mine": "Ojs", "ojs__other": "Shop"}
    own: dict[str, Any] = {
        "Mine": of("SQS::Queue", QueueName="ojs__mine"),
        "Free": of("SQS::Queue", QueueName="ojs__free"),
        "Unnamed": of("SQS::Queue"),
    }
    found = result(planned(**own), cloud, "names")
    assert found.verdict is OK
    assert found.text.startswith("2 names")
    taken = results(
        planned(
            **own,
            Other=of("SQS::Queue", QueueName="ojs__other"),
            Late=of("SQS::Queue", QueueName="ojs__late"),
        ),
        cloud,
        "names",
    )
    assert [each.text for each in taken] == [
        "the queue ojs__other is there, and belongs to Shop",
        "the queue ojs__late is there, and belongs to no stack",
    ]
    assert all("adopted_queues" in each.hint for each in taken)


def test_a_missing_right_is_a_problem_and_the_other_checks_go_on(cloud: Cloud) -> None:
    """It names the missing rights, and still checks the names."""
    cloud.is_denied = True
    found = result(triggers(100), cloud, "executions")
    assert "AccessDeniedException" in found.text
    assert "lambda:GetAccountSettings" in found.hint
    assert result(triggers(100), cloud, "names").verdict is OK


def assembly(folder: Path, environment: str, *resources: str) -> Path:
    """A cloud assembly with one stack, ``Ojs``, that has resources of these types."""
    template = {"Resources": {f"R{at}": {"Type": kind} for at, kind in enumerate(resources)}}
    (folder / "Ojs.template.json").write_text(json.dumps(template))
    artifact = {
        "type": "aws:cloudformation:stack",
        "environment": environment,
        "properties": {"templateFile": "Ojs.template.json", "stackName": "Ojs"},
    }
    artifacts = {"Ojs.assets": {"type": "cdk:asset-manifest"}, "OjsStack": artifact}
    (folder / "manifest.json").write_text(json.dumps({"artifacts": artifacts}))
    return folder


def test_an_assembly_says_where_its_stacks_go(tmp_path: Path) -> None:
    """As far as synthesis knew; stages are assemblies inside."""
    (whole,) = planned_stacks(assembly(tmp_path, "aws://unknown-account/unknown-region"))
    assert (whole.account, whole.region, whole.names) == ("", "", ["Ojs"])
    (placed,) = planned_stacks(assembly(tmp_path, f"aws://{NUMBER}/{REGION}", "AWS::Lambda::Url"))
    assert (placed.account, placed.region) == (NUMBER, REGION)
    assert any(placed.of("AWS::Lambda::Url"))
    outer = tmp_path / "outer"
    outer.mkdir()
    stage = {"type": "cdk:cloud-assembly", "properties": {"directoryName": "../"}}
    (outer / "manifest.json").write_text(json.dumps({"artifacts": {"Stage": stage}}))
    assert planned_stacks(outer)[0].names == ["Ojs"]


def run(monkeypatch: pytest.MonkeyPatch, cloud: Cloud, *arguments: str) -> Any:
    """Run the command over the account."""

    def found(_: str | None, region: str | None) -> Account:
        return account(cloud, region or "us-east-1")

    def stacks(_: str | None, region: str | None, number: str) -> Stacks:
        s3, found = boto3.client("s3", region_name=region), cast("CloudFormationClient", cloud)
        return Stacks(found, s3, region or "us-east-1", number, lambda _: None)

    monkeypatch.setattr("ojs_aws.bootstrap.account_of", found)
    monkeypatch.setattr("ojs_aws.bootstrap.stacks_of", stacks)
    monkeypatch.setenv("COLUMNS", "200")
    return run_command(*arguments)


def test_the_command_prints_each_check_and_ends_with_7_on_a_problem(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cloud: Cloud
) -> None:
    """In the region of the stack, else of the environment; 0 where all is ok, 2 without a stack."""
    monkeypatch.setenv("AWS_REGION", "ca-west-1")
    folder = str(assembly(tmp_path, "aws://unknown-account/unknown-region", "AWS::Lambda::Url"))
    bad = run(monkeypatch, cloud, "preflight", folder)
    assert bad.exit_code == 7
    assert "bad" in bad.stdout
    assert "the region ca-west-1 has none" in bad.stdout
    folder = str(assembly(tmp_path, f"aws://{NUMBER}/{REGION}", "AWS::Lambda::Url"))
    good = run(monkeypatch, cloud, "preflight", folder, "--json")
    assert good.exit_code == 0, good.output
    said = json.loads(good.stdout)
    assert said["ok"] is True
    assert {each["check"] for each in said["findings"]} >= {"account", "function URLs", "names"}
    assert {each["verdict"] for each in said["findings"]} == {"ok"}
    none = run(monkeypatch, cloud, "preflight", str(tmp_path / "nothing"))
    assert none.exit_code == 2
    assert "cdk synth" in none.stderr


# ----------------------------------------------------------- what `ojs-aws deploy` would deploy
def published(**parameters: str) -> PlannedStacks:
    """The template of this version with these parameters."""
    template = rendered(["default", "email"])
    return planned_stack("Ojs", template, parameters, account=NUMBER, region=REGION)


def test_parameters_decide_what_the_template_has(cloud: Cloud) -> None:
    """A function URL, an issuer and the queues' names are found as they will be."""
    plain = published()
    assert result(plain, cloud, "function URLs").text == "none is planned"
    assert results(plain, cloud, "issuer") == []
    names = {each.get("QueueName") for _, each in plain.of("AWS::SQS::Queue")}
    assert names >= {"ojs__default", "ojs__email", "ojs__CRON", "ojs__UNREADABLE"}
    chosen = published(Prefix="shop", JobEndpoint="true")
    assert result(chosen, cloud, "function URLs").text == f"{REGION} has them"
    names = {each.get("QueueName") for _, each in chosen.of("AWS::SQS::Queue")}
    assert names >= {"shop__default", "shop__email"}
    jwt = published(Auth="jwt", JwtIssuer=ISSUER, JwtAudience="ojs")
    assert result(jwt, cloud, "issuer").verdict is OK
    [audience] = [
        each["JwtConfiguration"]["Audience"]
        for _, each in jwt.of("AWS::ApiGatewayV2::Authorizer")
        if "JwtConfiguration" in each
    ]
    assert audience == ["ojs"]


def test_a_queue_whose_name_is_too_long_for_sqs_is_found(cloud: Cloud) -> None:
    """The template cannot hash it, as its prefix is a parameter."""
    for length, verdict in ((75, OK), (76, BAD)):
        template = rendered(["q" * length])
        planned = planned_stack("Ojs", template, {}, account=NUMBER, region=REGION)
        assert result(planned, cloud, "names").verdict is verdict


def test_two_stacks_of_the_template_share_no_name() -> None:
    """So an account holds several: each name has the stack's name, or the prefix, in it."""

    def names(stack: str, prefix: str) -> set[str]:
        planned = planned_stack(stack, rendered(["default"]), {"Prefix": prefix}, region=REGION)
        kinds = {
            "AWS::SQS::Queue": "QueueName",
            "AWS::Events::EventBus": "Name",
            "AWS::Logs::LogGroup": "LogGroupName",
        }
        named = [each.get(key) for kind, key in kinds.items() for _, each in planned.of(kind)]
        return {each for each in named if isinstance(each, str)}

    one, other = names("One", "one"), names("Other", "other")
    assert len(one) == len(other) == 5
    assert not one & other


@pytest.mark.parametrize(
    ("parameters", "said"),
    [({}, "about $3 a month without a job, and $9"), ({"JobEndpoint": "true"}, "and $8")],
)
def test_the_preflight_estimates_the_cost(
    cloud: Cloud, parameters: dict[str, str], said: str
) -> None:
    """That of the README: a month without a job, and a million jobs on a busy day."""
    assert said in result(published(**parameters), cloud, "cost").text


def test_a_deployment_that_aws_would_refuse_is_not_begun(
    monkeypatch: pytest.MonkeyPatch, cloud: Cloud
) -> None:
    """Nothing is uploaded; --no-preflight goes on, here as far as a bundle that is not there."""
    monkeypatch.setenv("AWS_REGION", REGION)
    boto3.client("sqs", region_name=REGION).create_queue(QueueName="ojs__default")
    buckets = boto3.client("s3", region_name=REGION).list_buckets
    ask = ("deploy", "--bundles", "/nowhere", "--yes")
    refused_one = run(monkeypatch, cloud, *ask)
    assert refused_one.exit_code == 7
    assert "the queue ojs__default is there" in refused_one.stdout
    assert "--no-preflight" in refused_one.stderr
    assert buckets()["Buckets"] == []
    another = run(monkeypatch, cloud, *ask, "--prefix", "shop")
    assert "/nowhere" in another.stderr
    assert "about $3 a month" in another.stdout
    asked_for = run(monkeypatch, cloud, *ask, "--no-preflight")
    assert "/nowhere" in asked_for.stderr


def test_the_preflight_takes_the_options_of_the_deployment(
    monkeypatch: pytest.MonkeyPatch, cloud: Cloud
) -> None:
    """Without a folder of the CDK; it makes neither a stack nor a bucket."""
    monkeypatch.setenv("AWS_REGION", "ca-west-1")
    bad = run(monkeypatch, cloud, "preflight", "--job-endpoint")
    assert bad.exit_code == 7
    assert "the region ca-west-1 has none" in bad.stdout
    assert run(monkeypatch, cloud, "preflight").exit_code == 0
    assert boto3.client("s3", region_name=REGION).list_buckets()["Buckets"] == []
