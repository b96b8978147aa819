"""A table for a load that is large from the first day."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_dynamodb as dynamodb

from ojs_aws.cdk import JobBackend, JobBackendProps, RestoredTable
from ojs_aws.cdk.job_table import NEW_TABLE_WRITES
from ojs_aws.pricing import NEW_TABLE_PARTITIONS
from tests.infra.conftest import NO_BUNDLING, Synthesised
from tests.infra.templates import of_backend, of_stack

WARM = dynamodb.WarmThroughput


def made(**props: Any) -> Stack:
    """A stack with a backend."""
    scope = Stack(App(context=NO_BUNDLING), "Mine")
    JobBackend(scope, "Jobs", JobBackendProps(**props))
    return scope


def warm(template: Synthesised) -> tuple[Any, Any]:
    """The warm throughput of the table, and of its index."""
    (table,) = template.of("AWS::DynamoDB::GlobalTable")
    (index,) = table["GlobalSecondaryIndexes"]
    return table.get("WarmThroughput"), index.get("WarmThroughput")


def test_table_and_index_have_the_warm_throughput_that_is_asked_for() -> None:
    """Each its own; without a property DynamoDB's default, which costs nothing."""
    found = warm(
        of_stack(
            made(
                warm_throughput=WARM(write_units_per_second=4000, read_units_per_second=12_000),
                index_warm_throughput=WARM(write_units_per_second=8000),
            )
        )
    )
    assert found == (
        {"WriteUnitsPerSecond": 4000, "ReadUnitsPerSecond": 12_000},
        {"WriteUnitsPerSecond": 8000},
    )
    assert warm(of_backend()) == (None, None)


@pytest.mark.parametrize("name", ["warm_throughput", "index_warm_throughput"])
@pytest.mark.parametrize(
    "units", [{"write_units_per_second": 3999}, {"read_units_per_second": 11_999}]
)
def test_less_than_a_new_table_has_is_refused(name: str, units: dict[str, int]) -> None:
    """DynamoDB lowers no warm throughput, and would fail the deployment."""
    with pytest.raises(ValueError, match=f"{name} has"):
        made(**{name: WARM(**units)})


def test_a_restored_table_is_not_made_and_cannot_be_warmed_here() -> None:
    """The property would be ignored."""
    restored = RestoredTable(name="again", stream_arn="arn:aws:dynamodb:x:1:table/again/stream/1")
    with pytest.raises(ValueError, match="UpdateTable"):
        made(restored_table=restored, warm_throughput=WARM(write_units_per_second=8000))


def test_a_new_table_is_as_warm_as_the_shards_of_the_estimate_say() -> None:
    """A partition writes a thousand units a second, and has a shard of the stream."""
    assert NEW_TABLE_WRITES == NEW_TABLE_PARTITIONS * 1000
