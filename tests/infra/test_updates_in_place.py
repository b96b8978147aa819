"""What CloudFormation cannot change in place: a new version must leave it as it was deployed.

Each definition is written out here, not taken from the code: the test fails whenever the template
changes, whatever made it change. ``docs/decisions/0097-keys-and-projections-stay-as-they-are.md``
says what to do instead.
"""

from __future__ import annotations

from typing import Any, Final

from tests.infra.conftest import Synthesised
from tests.infra.templates import of_context

TABLE_ID: Final = "BackendJobsTable090BB31B"
"""By another logical id it is another table, and the jobs stay in the old one."""

TABLE: Final[dict[str, Any]] = {
    "AttributeDefinitions": [
        {"AttributeName": "pk", "AttributeType": "S"},
        {"AttributeName": "sk", "AttributeType": "S"},
        {"AttributeName": "gpk", "AttributeType": "S"},
        {"AttributeName": "gsk", "AttributeType": "S"},
    ],
    "KeySchema": [
        {"AttributeName": "pk", "KeyType": "HASH"},
        {"AttributeName": "sk", "KeyType": "RANGE"},
    ],
    "StreamSpecification": {"StreamViewType": "NEW_AND_OLD_IMAGES"},
    "TimeToLiveSpecification": {"AttributeName": "ttl", "Enabled": True},
}

LISTS: Final[dict[str, Any]] = {
    "IndexName": "lists",
    "KeySchema": [
        {"AttributeName": "gpk", "KeyType": "HASH"},
        {"AttributeName": "gsk", "KeyType": "RANGE"},
    ],
    "Projection": {"NonKeyAttributes": ["st", "ty", "vt", "to"], "ProjectionType": "INCLUDE"},
}
"""The index as each deployment has it."""

KEPT: Final = {
    "BackendDocuments31C54552": "AWS::S3::Bucket",
    "BackendQueuesDeadLettersB71593E4": "AWS::SQS::Queue",
    "BackendQueuesQueuedefaultBD55EBDA": "AWS::SQS::Queue",
    "BackendQueuesQueuedemoF6045F6B": "AWS::SQS::Queue",
    "BackendCronAlarmsQueue31CDC480": "AWS::SQS::Queue",
    "BackendEvents74ECAA2D": "AWS::Events::EventBus",
    "BackendHttpApi7A913145": "AWS::ApiGatewayV2::Api",
    "BackendJobEndpointFunctionUrl80310827": "AWS::Lambda::Url",
}

FUNCTIONS: Final = (
    "api_keys authorizer job_endpoint operator producer stream system tick worker_api"
)
HANDLERS: Final = {f"functions.{name}.handler.handler" for name in FUNCTIONS.split()}
"""Code and handler of a function are changed by two calls; requests between them would fail."""


def test_the_keys_of_the_table_stay_as_they_are_deployed(stack: Synthesised) -> None:
    """With other keys, or under another logical id, CloudFormation makes a new, empty table."""
    resource = stack.document["Resources"][TABLE_ID]
    assert resource["Type"] == "AWS::DynamoDB::GlobalTable"
    assert "TableName" not in resource["Properties"]
    assert {name: resource["Properties"].get(name) for name in TABLE} == TABLE


def test_the_index_stays_as_it_is_deployed(stack: Synthesised) -> None:
    """CloudFormation refuses other keys and another projection of an index that is there."""
    properties = stack.document["Resources"][TABLE_ID]["Properties"]
    indexes = {each["IndexName"]: each for each in properties["GlobalSecondaryIndexes"]}
    assert {name: indexes["lists"].get(name) for name in LISTS} == LISTS
    assert not properties.get("LocalSecondaryIndexes")  # a table has them from its beginning


def test_what_holds_data_or_has_an_address_keeps_its_logical_id() -> None:
    """Replaced, it would be empty, or nobody would find it at the address that they know."""
    resources = of_context(job_endpoint="true").document["Resources"]
    assert {name: resources.get(name, {}).get("Type") for name in KEPT} == KEPT


def test_a_function_keeps_the_path_of_its_handler() -> None:
    """Under another path, no request could be answered until the code has come, too."""
    resources = of_context(job_endpoint="true").document["Resources"].values()
    found = {each["Properties"].get("Handler", "") for each in resources}
    assert {handler for handler in found if handler.startswith("functions.")} == HANDLERS
