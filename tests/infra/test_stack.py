"""What the deployed stack promises, read from its template."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

import pytest
from aws_cdk import App, RemovalPolicy, Stack
from aws_cdk.assertions import Template

from infra.app import ContextError, make_app
from ojs_aws.cdk import (
    JobBackend,
    JobBackendProps,
    LambdaWorkerFunction,
    LambdaWorkerFunctionProps,
)
from ojs_aws.cdk.bundle import Target
from ojs_aws.config import Settings, SettingsError, describe_settings
from ojs_aws.topology import (
    EVENTS_LAG_METRIC,
    LAG_METRIC,
    LEFT_METRIC,
    METRICS,
    SET_ASIDE_METRIC,
    TABLE,
    cron_queue_name,
    dead_letter_queue_name,
    sqs_queue_name,
)
from ojs_aws.transport.http.routes import ROUTES, Group
from tests.infra.conftest import NO_BUNDLING, Synthesise, Synthesised
from tests.infra.templates import of_context

BACKEND_FUNCTIONS = (
    *("producer", "worker_api", "operator", "system", "api_keys", "authorizer"),
    *("tick", "stream"),
)
DEMO = "ojs_aws.local.demo.handler"


def handler_of(function: str) -> str:
    return f"functions.{function}.handler.handler"


# ---------------------------------------------------------------------------------- the table

STREAM_ARN = "arn:aws:dynamodb:eu-west-1:123456789012:table/again/stream/2026"


def test_a_restored_table_takes_the_place_of_the_own_one() -> None:
    """The functions use it, its stream is read, and no other table is made."""
    app = App(context={**NO_BUNDLING, "restored_table": "again", "restored_stream": STREAM_ARN})
    (stack,) = make_app(app).node.children
    assert isinstance(stack, Stack)
    made = Synthesised(Template.from_stack(stack).to_json())
    assert not made.of("AWS::DynamoDB::GlobalTable")
    for name in BACKEND_FUNCTIONS:
        function = made.function(handler_of(name))
        assert function["Environment"]["Variables"]["OJS_TABLE"] == "again"
    triggers = [each["EventSourceArn"] for each in made.triggers(handler_of("stream"))]
    assert triggers == [STREAM_ARN]
    allowed = made.statements(handler_of("tick"))
    assert any(where.endswith("table/again/index/lists") for _, where in allowed)


def test_deleted_documents_can_be_brought_back_as_long_as_the_table(
    stack: Synthesised, synthesise: Synthesise
) -> None:
    """For the 35 days of point-in-time recovery; not in a stack that is thrown away."""
    (bucket,) = stack.of("AWS::S3::Bucket")
    assert bucket["VersioningConfiguration"] == {"Status": "Enabled"}
    (rule,) = bucket["LifecycleConfiguration"]["Rules"]
    assert rule["NoncurrentVersionExpiration"] == {"NoncurrentDays": 35}
    (thrown,) = synthesise(removal_policy=RemovalPolicy.DESTROY).of("AWS::S3::Bucket")
    assert "VersioningConfiguration" not in thrown


def test_the_table_is_the_one_of_the_topology(stack: Synthesised) -> None:
    """Keys, index, projection, TTL and stream are as ``ojs_aws.topology`` defines them."""
    (table,) = stack.of("AWS::DynamoDB::GlobalTable")
    assert {key["KeyType"]: key["AttributeName"] for key in table["KeySchema"]} == {
        "HASH": TABLE.partition_key,
        "RANGE": TABLE.sort_key,
    }
    (index,) = table["GlobalSecondaryIndexes"]
    assert index["IndexName"] == TABLE.index.name
    assert {key["KeyType"]: key["AttributeName"] for key in index["KeySchema"]} == {
        "HASH": TABLE.index.partition_key,
        "RANGE": TABLE.index.sort_key,
    }
    assert index["Projection"]["ProjectionType"] == "INCLUDE"
    assert sorted(index["Projection"]["NonKeyAttributes"]) == sorted(TABLE.index.projected)
    assert table["TimeToLiveSpecification"] == {
        "AttributeName": TABLE.ttl_attribute,
        "Enabled": True,
    }
    assert table["StreamSpecification"] == {"StreamViewType": TABLE.stream_view}


def test_the_table_is_on_demand_encrypted_and_restorable(stack: Synthesised) -> None:
    """Nobody provisions capacity, KMS encrypts, and any second can be restored."""
    (table,) = stack.of("AWS::DynamoDB::GlobalTable")
    assert table["BillingMode"] == "PAY_PER_REQUEST"
    assert table["SSESpecification"] == {"SSEEnabled": True, "SSEType": "KMS"}
    (replica,) = table["Replicas"]
    assert replica["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True


def test_jobs_outlive_their_stack_by_default(stack: Synthesised, synthesise: Synthesise) -> None:
    """Deleting the stack does not delete jobs and documents."""
    kinds = {"AWS::DynamoDB::GlobalTable", "AWS::S3::Bucket"}
    resources = stack.document["Resources"].values()
    policies = {each["DeletionPolicy"] for each in resources if each["Type"] in kinds}
    assert policies == {"Retain"}


# --------------------------------------------------------------------------------- the queues


def test_each_declared_queue_has_a_standard_sqs_queue(synthesise: Synthesise) -> None:
    """The names are those that the code computes, and no queue is FIFO."""
    template = synthesise(queues=["default", "email.high"], queue_prefix="shop")
    queues = template.of("AWS::SQS::Queue")
    names = {queue["QueueName"] for queue in queues if "QueueName" in queue}
    wanted = {sqs_queue_name("shop__", name) for name in ("default", "email.high", "demo")}
    assert names == wanted | {dead_letter_queue_name("shop__"), cron_queue_name("shop__")}
    assert not any(queue.get("FifoQueue") for queue in queues)


def test_unreadable_messages_go_to_the_dead_letter_queue(stack: Synthesised) -> None:
    """After a thousand receives: the retry policy is the job's affair, not SQS's."""
    queues = stack.of("AWS::SQS::Queue")
    (dead,) = [q for q in queues if q.get("QueueName") == dead_letter_queue_name("ojs__")]
    arn = {"Fn::GetAtt": [stack.logical_id("AWS::SQS::Queue", dead), "Arn"]}
    for name in ("default", "demo"):
        (queue,) = [q for q in queues if q.get("QueueName") == sqs_queue_name("ojs__", name)]
        assert queue["RedrivePolicy"] == {"deadLetterTargetArn": arn, "maxReceiveCount": 1000}
        assert queue["MessageRetentionPeriod"] == 14 * 24 * 3600


def test_visibility_is_six_times_the_timeout_of_the_slowest_consumer() -> None:
    """Whichever worker is added first."""
    app = App(context=NO_BUNDLING)
    scope = Stack(app, "Mine")
    backend = JobBackend(scope, "Jobs", JobBackendProps(queues=["a", "b"]))
    for number, timeout in enumerate((100, 300, 20)):
        LambdaWorkerFunction(
            scope,
            f"Worker{number}",
            LambdaWorkerFunctionProps(
                backend=backend, handler="jobs.handler", queues=["a"], timeout_s=timeout
            ),
        )
    template = Synthesised(app.synth().get_stack_by_name("Mine").template)
    seconds = {
        q.get("QueueName"): q["VisibilityTimeout"]
        for q in template.of("AWS::SQS::Queue")
        if "VisibilityTimeout" in q
    }
    assert seconds["ojs__a"] == 6 * 300
    assert seconds["ojs__b"] < 6 * 300


# ----------------------------------------------------------------------------------- triggers


def test_a_worker_is_triggered_with_partial_batch_responses(stack: Synthesised) -> None:
    """A job that is not done does not make its batch run again."""
    (trigger,) = stack.triggers(DEMO)
    assert trigger["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert trigger["BatchSize"] == 10
    timeout = stack.function(DEMO)["Timeout"]
    (queue,) = [q for q in stack.of("AWS::SQS::Queue") if q.get("QueueName") == "ojs__demo"]
    assert queue["VisibilityTimeout"] >= 6 * timeout


def test_a_poison_record_does_not_block_the_stream(stack: Synthesised) -> None:
    """Bisected; the function itself leaves out what ends it, and the rest lives through a day.

    A number of tries would be used up by an outage of minutes. What is too old goes to a queue that
    has an alarm, an hour before the stream would drop it without a trace.
    """
    (trigger,) = stack.triggers(handler_of("stream"))
    assert trigger["BisectBatchOnFunctionError"] is True
    assert trigger["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert trigger["MaximumRetryAttempts"] == -1
    assert trigger["MaximumRecordAgeInSeconds"] == 23 * 3600
    failures = trigger["DestinationConfig"]["OnFailure"]["Destination"]["Fn::GetAtt"][0]
    alarms = [a for a in stack.of("AWS::CloudWatch::Alarm") if a["Namespace"] == "AWS/SQS"]
    dimensions = [dimension for alarm in alarms for dimension in alarm["Dimensions"]]
    assert {"Fn::GetAtt": [failures, "QueueName"]} in [each["Value"] for each in dimensions]


def test_the_stream_is_invoked_only_for_what_becomes_events(
    stack: Synthesised,
) -> None:
    """The event log is written to the same table: it must not feed on itself."""
    (trigger,) = stack.triggers(handler_of("stream"))
    patterns = [
        json.loads(one["Pattern"])["dynamodb"] for one in trigger["FilterCriteria"]["Filters"]
    ]
    assert {"Keys": {"sk": {"S": ["job", "workflow"]}}} in patterns
    kinds = ["cron", "workers", "settings", "pressure", "bulk", "operations", "schemas", "tick"]
    assert {"Keys": {"pk": {"S": kinds}}} in patterns
    paused = {"pk": {"S": ["queues", "limits"]}}
    queues = [each for each in patterns if each["Keys"] == paused]
    assert [set(each) - {"Keys"} for each in queues] == [{"NewImage"}, {"OldImage"}]
    assert len(patterns) == 4  # of at most five


def test_somebody_learns_of_events_that_are_set_aside_or_late(stack: Synthesised) -> None:
    """Nothing is dropped silently."""
    stream = stack.logical_id("AWS::Lambda::Function", stack.function(handler_of("stream")))
    alarms = {each["MetricName"]: each for each in stack.of("AWS::CloudWatch::Alarm")}
    assert alarms[SET_ASIDE_METRIC]["Dimensions"] == [{"Name": "service", "Value": {"Ref": stream}}]
    assert alarms["IteratorAge"]["Dimensions"] == [
        {"Name": "FunctionName", "Value": {"Ref": stream}}
    ]
    assert alarms["IteratorAge"]["Threshold"] == 300_000


def test_somebody_learns_that_nothing_reads_the_stream(stack: Synthesised) -> None:
    """The age of its records is measured with invocations only; the tick says what it misses."""
    tick = stack.logical_id("AWS::Lambda::Function", stack.function(handler_of("tick")))
    alarms = {each["MetricName"]: each for each in stack.of("AWS::CloudWatch::Alarm")}
    unread = alarms[EVENTS_LAG_METRIC]
    assert unread["Dimensions"] == [{"Name": "service", "Value": {"Ref": tick}}]
    assert (unread["Statistic"], unread["Threshold"]) == ("Maximum", 300_000)
    assert (unread["TreatMissingData"], unread["EvaluationPeriods"]) == ("breaching", 3)


def test_the_sweep_runs_each_minute(stack: Synthesised) -> None:
    """One rule, one target, and no repetition of a tick that failed."""
    (rule,) = stack.of("AWS::Events::Rule")
    assert rule["ScheduleExpression"] == "rate(1 minute)"
    (target,) = rule["Targets"]
    tick = stack.logical_id("AWS::Lambda::Function", stack.function(handler_of("tick")))
    assert target["Arn"] == {"Fn::GetAtt": [tick, "Arn"]}
    assert target["RetryPolicy"]["MaximumRetryAttempts"] == 0


def test_alarms_of_cron_jobs_wake_the_tick(stack: Synthesised) -> None:
    """A queue of its own, hidden for long enough, and no flood of invocations."""
    (trigger,) = stack.triggers(handler_of("tick"))
    assert trigger["ScalingConfig"]["MaximumConcurrency"] == 10
    (queue,) = [
        each for each in stack.of("AWS::SQS::Queue") if each.get("QueueName") == "ojs__CRON"
    ]
    assert queue["VisibilityTimeout"] >= 6 * stack.function(handler_of("tick"))["Timeout"]
    assert queue["MessageRetentionPeriod"] == 3600


def test_a_late_sweep_or_none_at_all_rings(stack: Synthesised) -> None:
    """By the metric that the function writes, and by its absence."""
    tick = stack.logical_id("AWS::Lambda::Function", stack.function(handler_of("tick")))
    alarms = {
        alarm["MetricName"]: alarm
        for alarm in stack.of("AWS::CloudWatch::Alarm")
        if alarm["Namespace"] == METRICS
    }
    for name in (LAG_METRIC, LEFT_METRIC):
        assert alarms[name]["Dimensions"] == [{"Name": "service", "Value": {"Ref": tick}}]
        assert alarms[name]["Statistic"] == "Maximum"
    assert alarms[LAG_METRIC]["Threshold"] == 60_000
    assert alarms[LAG_METRIC]["TreatMissingData"] == "breaching"
    assert alarms[LEFT_METRIC]["TreatMissingData"] == "notBreaching"


# ---------------------------------------------------------------------------------- functions


def test_functions_run_on_graviton_and_the_current_python(stack: Synthesised) -> None:
    """All alike, and with a log that does not grow for ever."""
    functions = stack.of("AWS::Lambda::Function")
    assert len(functions) == len(BACKEND_FUNCTIONS) + 1
    assert {function["Runtime"] for function in functions} == {f"python{Target().python}"}
    assert {tuple(function["Architectures"]) for function in functions} == {("arm64",)}
    assert all("LogGroup" in function["LoggingConfig"] for function in functions)
    assert all("RetentionInDays" in group for group in stack.of("AWS::Logs::LogGroup"))


def test_the_target_can_be_chosen(synthesise: Synthesise) -> None:
    """For emulators, and for packages without wheels for Graviton."""
    functions = synthesise(target=Target("x86_64", "3.12")).of("AWS::Lambda::Function")
    assert {function["Runtime"] for function in functions} == {"python3.12"}
    assert {tuple(function["Architectures"]) for function in functions} == {("x86_64",)}


def test_the_api_functions_end_before_the_gateway_gives_up() -> None:
    """A push must not surface as a 504 that clients repeat; the job endpoint's ends as soon."""
    made = of_context(job_endpoint="true")
    for name in ("producer", "worker_api", "job_endpoint", "operator", "system", "api_keys"):
        assert made.function(handler_of(name))["Timeout"] < 30


def test_the_environment_is_what_the_settings_read(stack: Synthesised) -> None:
    """Every variable that is set exists, and the settings accept the literal ones."""
    known = {variable for variable, _, _ in describe_settings()}
    for function in stack.of("AWS::Lambda::Function"):
        variables = function["Environment"]["Variables"]
        ours = {name: value for name, value in variables.items() if name.startswith("OJS_")}
        assert set(ours) <= known
        literal = {name: value for name, value in ours.items() if isinstance(value, str)}
        settings = Settings.from_env(literal)
        assert settings.queues == ("default", "demo")
        assert settings.queue_prefix == "ojs__"


def test_a_setting_that_the_functions_would_refuse_is_refused_at_synthesis() -> None:
    """Misspelt, out of range, and the test aids that no deployment may have."""
    for settings in ({"OJS_TEST_MODE": "1"}, {"OJS_MAX_DEPTH": "-1"}):
        with pytest.raises(SettingsError):
            JobBackend(
                Stack(App(context=NO_BUNDLING), "S"), "B", JobBackendProps(settings=settings)
            )
    with pytest.raises(ValueError, match="OJS_MAXDEPTH"):
        JobBackend(
            Stack(App(context=NO_BUNDLING), "S"),
            "B",
            JobBackendProps(settings={"OJS_MAXDEPTH": "9"}),
        )


@pytest.mark.parametrize("name", ["OJS_QUEUES", "OJS_TABLE", "OJS_AUTH", "OJS_PUBLIC_STATUS"])
def test_a_setting_that_another_property_decides_on_is_refused(name: str) -> None:
    """It would do nothing."""
    value = {"OJS_AUTH": "none", "OJS_PUBLIC_STATUS": "1"}.get(name, "mail")
    stack = Stack(App(context=NO_BUNDLING), "S")
    with pytest.raises(ValueError, match=f"Leave {name} out of settings"):
        JobBackend(stack, "B", JobBackendProps(settings={name: value}))


# --------------------------------------------------------------------------------- privileges

READ = {"dynamodb:GetItem", "dynamodb:Query"}
WRITE = {"dynamodb:PutItem", "dynamodb:UpdateItem"}

LOG = {"logs:CreateLogStream", "logs:PutLogEvents"}
"""Of the function's own log group, see test_nag.py."""

BATCHES = {"dynamodb:BatchWriteItem"}
"""Of documents, in the partitions of jobs alone, see test_access.py."""

READS_DOCUMENTS = {"s3:GetObject", "s3:ListBucket"}
"""The second so that S3 says which documents are missing, see test_access.py."""

PAUSE = {"lambda:ListEventSourceMappings", "lambda:UpdateEventSourceMapping"}
"""What a pause and a resume need, and the sweep that ends them; the second on workers' own."""

EXPECTED_ACTIONS = {
    "producer": READ
    | WRITE
    | BATCHES
    | {
        "dynamodb:BatchGetItem",
        "dynamodb:DeleteItem",  # of the rows of open batches alone
        "sqs:SendMessage",
        "sqs:DeleteMessage",
        "sqs:CreateQueue",
        "sqs:TagQueue",
        *READS_DOCUMENTS,
        "s3:PutObject",
        "s3:DeleteObject",  # of documents whose jobs were refused
    },
    "worker_api": READ
    | WRITE
    | {
        "dynamodb:BatchGetItem",
        "sqs:GetQueueAttributes",
        "sqs:ReceiveMessage",
        "sqs:SendMessage",
        "sqs:DeleteMessage",
        "sqs:ChangeMessageVisibility",
        "sqs:CreateQueue",
        "sqs:TagQueue",
        *READS_DOCUMENTS,
        "s3:PutObject",
        "s3:DeleteObject",  # of documents whose jobs were refused
    },
    "operator": READ
    | WRITE
    | BATCHES
    | {
        "dynamodb:BatchGetItem",
        "dynamodb:DeleteItem",
        "sqs:SendMessage",
        "sqs:DeleteMessage",
        "sqs:GetQueueAttributes",
        "sqs:CreateQueue",
        "sqs:TagQueue",
        *READS_DOCUMENTS,
        "s3:PutObject",
        "s3:DeleteObject",
        *PAUSE,
    },
    "system": {"dynamodb:GetItem"},
    "authorizer": {"dynamodb:GetItem"},  # of the records of API keys, see test_access.py
    "api_keys": {"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"},  # of these, too
    "tick": READ
    | WRITE
    | BATCHES
    | {
        "dynamodb:BatchGetItem",
        "dynamodb:DeleteItem",  # of dead letters beyond the number that is kept
        "s3:DeleteObject",
        "sqs:SendMessage",
        "sqs:DeleteMessage",
        "sqs:GetQueueAttributes",
        "sqs:CreateQueue",
        "sqs:TagQueue",
        *READS_DOCUMENTS,
        "s3:PutObject",
        # of the trigger: receiving the alarms of cron jobs
        "sqs:ReceiveMessage",
        "sqs:ChangeMessageVisibility",
        "sqs:GetQueueUrl",
        *PAUSE,
    },
    "stream": READ
    | WRITE
    | BATCHES
    | {
        "events:PutEvents",
        # documents and locks of jobs whose retention ended
        "dynamodb:DeleteItem",
        "s3:DeleteObject",
        # messages of completed jobs
        "sqs:DeleteMessage",
        # of workflows, and of applications' own transactions: jobs are enqueued as by PUSH
        "dynamodb:BatchGetItem",
        "sqs:CreateQueue",
        "sqs:TagQueue",
        *READS_DOCUMENTS,
        "s3:PutObject",
        # of the trigger: reading the stream, and giving up a batch
        "dynamodb:DescribeStream",
        "dynamodb:GetRecords",
        "dynamodb:GetShardIterator",
        "dynamodb:ListStreams",
        "sqs:SendMessage",
        "sqs:GetQueueAttributes",
        "sqs:GetQueueUrl",
    },
}


@pytest.mark.parametrize("function", BACKEND_FUNCTIONS)
def test_a_function_may_do_exactly_what_its_boundary_needs(
    function: str, stack: Synthesised
) -> None:
    """No more, no less; a change here is a change of the trust boundaries."""
    assert stack.actions(handler_of(function)) == EXPECTED_ACTIONS[function] | LOG


def test_the_job_endpoint_may_do_what_senders_and_workers_need() -> None:
    """Nothing else; the system's function needs less than each of them."""
    needed = EXPECTED_ACTIONS["producer"] | EXPECTED_ACTIONS["worker_api"] | LOG
    assert of_context(job_endpoint="true").actions(handler_of("job_endpoint")) == needed


def test_the_worker_may_do_exactly_what_a_worker_needs(stack: Synthesised) -> None:
    """On the table, the bucket and its own queue."""
    assert stack.actions(DEMO) == READ | WRITE | LOG | {
        "dynamodb:BatchGetItem",
        *READS_DOCUMENTS,
        "s3:PutObject",
        "sqs:ReceiveMessage",
        "sqs:SendMessage",
        "sqs:DeleteMessage",
        "sqs:ChangeMessageVisibility",
        # of the trigger
        "sqs:GetQueueAttributes",
        "sqs:GetQueueUrl",
    }
    (queue,) = [q for q in stack.of("AWS::SQS::Queue") if q.get("QueueName") == "ojs__demo"]
    demo = stack.logical_id("AWS::SQS::Queue", queue)
    queues = {
        resource
        for actions, resource in stack.statements(DEMO)
        if any(action.startswith("sqs:") for action in actions)
    }
    (dead,) = [q for q in stack.of("AWS::SQS::Queue") if q.get("QueueName") == "ojs__UNREADABLE"]
    unreadable = stack.logical_id("AWS::SQS::Queue", dead)
    assert queues == {f"<{demo}.Arn>", f"<{unreadable}.Arn>"}


@pytest.mark.parametrize("handler", [*map(handler_of, BACKEND_FUNCTIONS), DEMO])
def test_no_role_has_wildcards(handler: str, stack: Synthesised) -> None:
    """Actions are named, and so are resources.

    They are the table, its index and stream, the bucket's objects, the bus, and the queues of this
    deployment's prefix.
    """
    (table,) = stack.of("AWS::DynamoDB::GlobalTable")
    (bucket,) = stack.of("AWS::S3::Bucket")
    table_id = stack.logical_id("AWS::DynamoDB::GlobalTable", table)
    bucket_id = stack.logical_id("AWS::S3::Bucket", bucket)
    for actions, resource in stack.statements(handler):
        assert not any("*" in action for action in actions)
        if any(action.startswith("dynamodb:") for action in actions):
            if actions <= {"dynamodb:ListStreams"}:
                continue  # DynamoDB knows no resource for it
            assert resource in {
                f"<{table_id}.Arn>",
                f"<{table_id}.Arn>/index/lists",
                f"<{table_id}.StreamArn>",
            }
        elif any(action.startswith("s3:") for action in actions):
            of_objects = actions != {"s3:ListBucket"}
            assert resource == f"<{bucket_id}.Arn>" + "/*" * of_objects
        elif "*" in resource:
            if actions == {"lambda:ListEventSourceMappings"}:
                continue  # Lambda knows no resource for it
            if actions == {"lambda:UpdateEventSourceMapping"}:
                continue  # those with the backend's tag, see the next test
            assert resource.endswith(":ojs__*")


def test_a_pause_may_switch_the_triggers_of_workers_and_no_others(stack: Synthesised) -> None:
    """Not the stream's, nor that of cron jobs, nor anybody else's in the account: by their tag."""
    tag = {"Key": "ojs-queue-prefix", "Value": "ojs__"}
    (trigger,) = stack.triggers(DEMO)
    triggers = stack.of("AWS::Lambda::EventSourceMapping")
    assert [each for each in triggers if tag in each.get("Tags", [])] == [trigger]
    for function in ("operator", "tick"):
        (switching,) = [
            each
            for each in stack.conditional(handler_of(function), "Allow")
            if "lambda:UpdateEventSourceMapping" in each["Action"]
        ]
        assert switching["Condition"] == {
            "StringEquals": {"aws:ResourceTag/ojs-queue-prefix": "ojs__"}
        }
        switched = [
            resource
            for actions, resource in stack.statements(handler_of(function))
            if "lambda:UpdateEventSourceMapping" in actions
        ]
        assert len(switched) == 1
        assert switched[0].endswith(":event-source-mapping:*")


def test_a_worker_may_stand_in_a_stack_of_its_own() -> None:
    """The backend may switch its triggers, and needs nothing of that stack."""
    app = App(context=NO_BUNDLING)
    backend = JobBackend(Stack(app, "Backend"), "Jobs", JobBackendProps(queues=["a"]))
    props = LambdaWorkerFunctionProps(backend=backend, handler="jobs.handler", queues=["a"])
    LambdaWorkerFunction(Stack(app, "Workers"), "Worker", props)
    template = Synthesised(app.synth().get_stack_by_name("Workers").template)
    (trigger,) = template.triggers("jobs.handler")
    assert {"Key": "ojs-queue-prefix", "Value": "ojs__"} in trigger["Tags"]


def test_without_undeclared_queues_only_the_declared_ones_may_be_touched(
    synthesise: Synthesise,
) -> None:
    """Nobody may create a queue, and no resource is a pattern of queues."""
    template = synthesise(allow_undeclared_queues=False)
    for function in BACKEND_FUNCTIONS:
        statements = template.statements(handler_of(function))
        assert not any("sqs:CreateQueue" in actions for actions, _ in statements)
        assert not any(resource.endswith(":ojs__*") for _, resource in statements)


def test_queues_bucket_and_bucket_access_need_tls(stack: Synthesised) -> None:
    """Each has a policy that denies plain HTTP, and nothing is public."""
    policies = [*stack.of("AWS::SQS::QueuePolicy"), *stack.of("AWS::S3::BucketPolicy")]
    queues = stack.of("AWS::SQS::Queue")
    denying = [
        policy
        for policy in policies
        for statement in policy["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Deny"
        and statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    ]
    closed = [queue for policy in denying for queue in policy.get("Queues", ["the bucket"])]
    assert len(closed) == len(queues) + 1
    (bucket,) = stack.of("AWS::S3::Bucket")
    assert set(bucket["PublicAccessBlockConfiguration"].values()) == {True}
    assert all(queue["SqsManagedSseEnabled"] for queue in queues)


# -------------------------------------------------------------------------------------- the API


@pytest.mark.parametrize("base", ["/ojs/v1", "/ojs/v1/ojs/v1", "/v1"])
def test_each_operation_reaches_the_function_that_serves_it(base: str, stack: Synthesised) -> None:
    """In every spelling, by the rules by which API Gateway chooses among routes."""
    routes = {route["RouteKey"]: route for route in stack.of("AWS::ApiGatewayV2::Route")}
    for operation in ROUTES:
        for path in operation.paths:
            if not path.startswith("/ojs/v1/") or (operation.group is Group.SYSTEM):
                continue
            if operation.group is Group.API_KEYS and base != "/ojs/v1":
                continue  # a stack has room for few routes
            asked = base + path.removeprefix("/ojs/v1").replace("<", "a-").replace(">", "")
            chosen = _route_of(routes, operation.method, asked)
            assert _function_of(stack, routes[chosen]) == handler_of(operation.group.value), asked


@pytest.mark.parametrize(
    "path", ["/ojs/v1/nothing", "/ojs/v1/health", "/ojs/v1/openapi.json", "/x"]
)
def test_what_no_feature_has_reaches_the_system_function(path: str, stack: Synthesised) -> None:
    """It has the least rights, and answers in the form of OJS."""
    routes = {route["RouteKey"]: route for route in stack.of("AWS::ApiGatewayV2::Route")}
    for method in ("GET", "POST", "TRACE"):
        chosen = _route_of(routes, method, path)
        assert _function_of(stack, routes[chosen]) == handler_of("system")


def _route_of(routes: Iterable[str], method: str, path: str) -> str:
    """The route that API Gateway chooses: whole before greedy, fixed before variable."""

    def rank(key: str) -> tuple[bool, int, bool]:
        known, _, template = key.partition(" ")
        return not template.endswith("+}"), len(re.sub(r"{.+?}", "", template)), known != "ANY"

    def matches(key: str) -> bool:
        known, _, template = key.partition(" ")
        pattern = re.sub(r"{\w+}", "[^/]+", template.replace("{proxy+}", ".+"))
        return known in {"ANY", method} and re.fullmatch(pattern, path) is not None

    found = sorted((key for key in routes if matches(key)), key=rank)
    return found[-1] if found else "$default"


def _function_of(stack: Synthesised, route: dict[str, object]) -> str:
    """The handler behind a route."""
    target = route["Target"]["Fn::Join"][1][-1]["Ref"]  # type: ignore[index]
    integration = stack.document["Resources"][target]["Properties"]
    assert integration["PayloadFormatVersion"] == "2.0"
    function = integration["IntegrationUri"]["Fn::GetAtt"][0]
    return str(stack.document["Resources"][function]["Properties"]["Handler"])


def test_the_outputs_are_what_people_and_tools_need(stack: Synthesised) -> None:
    """The API's URL, and what a producer inside AWS configures itself with."""
    assert {
        "ApiUrl",
        "TableName",
        "QueueUrlPrefix",
        "QueuePrefix",
        "BucketName",
        "DeadLetterQueueUrl",
    } <= set(stack.document["Outputs"])


# ------------------------------------------------------------------------------------- the app


def test_a_worker_of_an_undeclared_queue_is_refused() -> None:
    """With the declared ones in the message."""
    scope = Stack(App(context=NO_BUNDLING), "S")
    backend = JobBackend(scope, "Jobs", JobBackendProps(queues=["email"]))
    props = LambdaWorkerFunctionProps(backend=backend, handler="jobs.handler", queues=["emial"])
    with pytest.raises(ValueError, match="declared are: email"):
        LambdaWorkerFunction(scope, "Worker", props)


@pytest.mark.parametrize(("name", "value"), [("architecture", "arm"), ("removal", "keep")])
def test_context_that_cannot_be_used_is_refused(name: str, value: str) -> None:
    """The message says which and what is possible."""
    with pytest.raises(ContextError, match=name):
        make_app(App(context={**NO_BUNDLING, name: value}))


def test_the_app_reads_its_context() -> None:
    """``cdk deploy -c name=value``."""
    context = {"stack": "Mine", "queues": "a, b", "demo": "false", "prefix": "shop"}
    app = make_app(App(context={**NO_BUNDLING, **context}))
    template = Synthesised(app.synth().get_stack_by_name("Mine").template)
    names = {queue.get("QueueName") for queue in template.of("AWS::SQS::Queue")}
    assert {"shop__a", "shop__b"} <= names
    assert "shop__demo" not in names
