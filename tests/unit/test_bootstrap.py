"""Each store that a service asks for is made with what its class takes."""

from __future__ import annotations

import re

import pytest

from ojs_aws.bootstrap import AwsClients, job_store
from ojs_aws.bootstrap.adapters import stores_on_demand
from ojs_aws.config import Settings
from ojs_aws.domain.runtime import IN_ORDER
from ojs_aws.memory_aws import MemoryAws
from ojs_aws.services.backend.foundation import Stores

AWS = MemoryAws.at(lambda: 0)
CLIENTS = AwsClients(AWS.dynamodb, AWS.sqs, lambda: AWS.s3, lambda: AWS.events)
SETTINGS = Settings(table="jobs", queue_url_prefix="https://sqs.invalid/1/", bucket="documents")
MADE = stores_on_demand(SETTINGS, CLIENTS, job_store(SETTINGS, CLIENTS, IN_ORDER))


@pytest.mark.parametrize("name", MADE)
def test_a_row_of_the_table_makes_the_store_that_services_expect(name: str) -> None:
    found = re.fullmatch(r"Callable\[\[\], (\w+)\]", str(Stores.__annotations__[name]))
    assert found is not None
    expected = "EventBus" if name == "announce" else found[1]
    assert type(MADE[name]()).__name__ == expected
