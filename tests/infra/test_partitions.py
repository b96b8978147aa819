"""GovCloud and China synthesise: no ARN and no host name of the usual partition is left."""

from __future__ import annotations

import json
import re
from typing import Final

import pytest
from aws_cdk import App, Environment, Stack
from aws_cdk.assertions import Template

from ojs_aws.cdk import JobBackend, JobBackendProps
from ojs_aws.cdk.published_template import rendered
from tests.infra.conftest import NO_BUNDLING

ACCOUNT: Final = "123456789012"
PARTITIONS: Final = {"us-gov-west-1": "aws-us-gov", "cn-north-1": "aws-cn"}


def foreign(text: str, partition: str) -> list[str]:
    """ARNs of another partition, and host names of the usual one; principals are the same."""
    arns = [each for each in re.findall(r"arn:(aws[a-z-]*):", text) if each != partition]
    hosts = re.findall(r"[a-z0-9-]+\.[a-z0-9-]+\.amazonaws\.com(?!\.cn)", text)
    return [*arns, *hosts]


@pytest.mark.parametrize("region", PARTITIONS)
def test_a_backend_synthesises_in_other_partitions(region: str) -> None:
    stack = Stack(App(context=NO_BUNDLING), "Jobs", env=Environment(account=ACCOUNT, region=region))
    JobBackend(stack, "Backend", JobBackendProps(job_endpoint=False))
    text = json.dumps(Template.from_stack(stack).to_json())
    assert foreign(text, PARTITIONS[region]) == []


@pytest.mark.parametrize("region", ["us-gov-west-1"])
def test_what_a_partition_lacks_is_refused_with_the_way_out(region: str) -> None:
    """Function URLs: the API serves the same."""
    stack = Stack(App(context=NO_BUNDLING), "Jobs", env=Environment(account=ACCOUNT, region=region))
    with pytest.raises(ValueError, match="function URL"):
        JobBackend(stack, "Backend", JobBackendProps(job_endpoint=True))


def test_the_published_template_is_of_no_partition() -> None:
    assert foreign(json.dumps(rendered(["default"])), "") == []
