"""Event source mappings as Lambda has them: a pause switches them off, a resume on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.stub import Stubber

from ojs_aws.adapters.functions import LambdaTriggers
from ojs_aws.adapters.sqs import queue_arn
from ojs_aws.bootstrap import AwsClients, build_backend
from ojs_aws.domain.errors import BackendError
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.services.backend import Backend
from ojs_aws.testing.deployment import FakeClock
from tests.aws import EmbeddedAws

if TYPE_CHECKING:
    from mypy_boto3_lambda import LambdaClient

pytestmark = pytest.mark.moto

A, B, C = (letter * 36 for letter in "abc")
"""Ids of mappings."""


@pytest.fixture
def functions(aws: EmbeddedAws) -> LambdaClient:
    """A Lambda API with one function, whose mapping serves the default queue."""
    del aws
    role = boto3.client("iam", region_name="us-east-1").create_role(
        RoleName="worker", AssumeRolePolicyDocument="{}"
    )
    client = boto3.client("lambda", region_name="us-east-1")
    client.create_function(
        FunctionName="worker",
        Runtime="python3.13",
        Role=role["Role"]["Arn"],
        Handler="jobs.handler",
        Code={"ZipFile": b"PK\x05\x06" + bytes(18)},
    )
    return client


@pytest.fixture
def backend(aws: EmbeddedAws, functions: LambdaClient) -> Backend:
    """A backend that may switch it."""
    made = aws.clients
    clients = AwsClients(made.dynamodb, made.sqs, made.s3, made.events, lambda: functions)
    return build_backend(aws.settings, clients, clock=FakeClock(), parallel=IN_ORDER)


def states(functions: LambdaClient) -> set[str]:
    """Of all mappings."""
    mappings = functions.list_event_source_mappings()["EventSourceMappings"]
    return {each["State"] for each in mappings}


def test_a_pause_switches_the_mapping_off_and_a_resume_on(
    aws: EmbeddedAws, functions: LambdaClient, backend: Backend
) -> None:
    """Those of the queue's own SQS queue, found by its ARN."""
    arn = queue_arn(aws.clients.sqs, aws.settings.queue_url_prefix, "ojs-default")
    functions.create_event_source_mapping(EventSourceArn=arn, FunctionName="worker")
    assert states(functions) == {"Enabled"}
    backend.queues.service.pause("other")
    assert states(functions) == {"Enabled"}
    info = backend.queues.service.pause("default")
    assert len(info.triggers) == 1
    assert states(functions) == {"Disabled"}
    backend.upkeep.sweep.tick()
    assert states(functions) == {"Disabled"}
    backend.queues.service.resume("default")
    assert states(functions) == {"Enabled"}
    assert backend.queues.service.get("default").triggers == ()


def test_mappings_are_found_page_by_page_and_only_those_that_are_on(
    functions: LambdaClient,
) -> None:
    """One that an operator switched off is none of the pause's."""
    with Stubber(functions) as stub:
        first: Any = [{"UUID": A, "State": "Enabled"}, {"UUID": B, "State": "Disabled"}]
        page: Any = {"EventSourceMappings": first, "NextMarker": "m"}
        stub.add_response("list_event_source_mappings", page, {"EventSourceArn": "arn:q"})
        second: Any = {"EventSourceMappings": [{"UUID": C, "State": "Enabling"}]}
        stub.add_response(
            "list_event_source_mappings", second, {"EventSourceArn": "arn:q", "Marker": "m"}
        )
        triggers = LambdaTriggers(functions, lambda queue: f"arn:{queue}")
        assert triggers.running("q") == [A, C]
        stub.add_response("list_event_source_mappings", {**page, "NextMarker": ""})
        assert triggers.stopped("q") == [B]


def test_one_mapping_that_cannot_be_switched_keeps_no_other_from_it(
    functions: LambdaClient,
) -> None:
    """One that is gone is no error; one that is just being changed is, and comes again."""
    with Stubber(functions) as stub:
        stub.add_client_error("update_event_source_mapping", "ResourceInUseException")
        stub.add_client_error("update_event_source_mapping", "ResourceNotFoundException")
        stub.add_response("update_event_source_mapping", {}, {"UUID": C, "Enabled": False})
        with pytest.raises(BackendError, match="ResourceInUse"):
            LambdaTriggers(functions, str).switch([A, B, C], is_on=False)
        stub.assert_no_pending_responses()
