"""Token buckets of API clients in the table."""

from __future__ import annotations

import pytest

from ojs_aws.adapters.dynamodb.access import ClientBuckets
from tests.aws import EmbeddedAws

NOW = 1_760_000_000_000_000
TOKEN = 1_000_000
LATEST = NOW + 2 * TOKEN  # a burst of three


@pytest.fixture
def buckets(aws: EmbeddedAws) -> ClientBuckets:
    """No bucket yet."""
    return ClientBuckets(aws.clients.dynamodb, aws.settings.table)


def test_tokens_are_taken_until_there_are_none(buckets: ClientBuckets) -> None:
    """Whatever was guessed about the bucket; by each client from its own."""
    taken = [buckets.charge("a", TOKEN, LATEST, NOW, seen) for seen in (NOW, NOW, NOW + TOKEN)]
    assert [each.is_refused for each in taken] == [False] * 3
    assert taken[-1].full_at_us == NOW + 3 * TOKEN
    refused = buckets.charge("a", TOKEN, LATEST, NOW, NOW + 3 * TOKEN)
    assert (refused.is_refused, refused.full_at_us) == (True, NOW + 3 * TOKEN)
    assert buckets.charge("b" * 3000, TOKEN, LATEST, NOW, NOW).full_at_us == NOW + TOKEN


def test_a_bucket_fills_with_time_and_no_further(buckets: ClientBuckets) -> None:
    """After a long time it is as if it had never been used."""
    for _ in range(3):
        buckets.charge("a", TOKEN, LATEST, NOW, NOW)
    later = NOW + TOKEN
    assert not buckets.charge("a", TOKEN, LATEST + TOKEN, later, NOW).is_refused
    long_after = NOW + 3600 * TOKEN
    standing = buckets.charge("a", TOKEN, long_after + 2 * TOKEN, long_after, NOW)
    assert standing.full_at_us == long_after + TOKEN


def test_a_bucket_that_has_filled_is_not_fuller_than_full(buckets: ClientBuckets) -> None:
    """Whoever takes it for one that is not full yet; by a clock that is behind, for instance."""
    buckets.charge("a", TOKEN, LATEST, NOW, NOW)
    long_after = NOW + 3600 * TOKEN
    standing = buckets.charge("a", TOKEN, long_after + 2 * TOKEN, long_after, long_after + 1)
    assert standing.full_at_us == long_after + TOKEN


def test_a_share_may_be_owed_as_long_as_there_is_a_token(buckets: ClientBuckets) -> None:
    """What was let through must be counted."""
    buckets.charge("a", 2 * TOKEN, LATEST, NOW, NOW)
    owing = buckets.charge("a", 10 * TOKEN, LATEST, NOW, NOW + 2 * TOKEN)
    assert (owing.is_refused, owing.full_at_us) == (False, NOW + 12 * TOKEN)
    assert buckets.charge("a", TOKEN, LATEST, NOW, owing.full_at_us).is_refused


def test_a_request_costs_one_write(aws: EmbeddedAws) -> None:
    """A good guess one, a bad one two."""
    buckets = ClientBuckets(aws.clients.dynamodb, aws.settings.table)
    for seen, cost in ((NOW, 1), (NOW + TOKEN, 1), (NOW, 2)):
        with aws.calls.counted() as calls:
            buckets.charge("a", TOKEN, LATEST, NOW, seen)
        assert calls == {"UpdateItem": cost}
