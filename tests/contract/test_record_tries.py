"""What the counter of a record's tries must do."""

from __future__ import annotations

from ojs_aws.bootstrap import record_tries
from ojs_aws.domain.timestamps import Instant
from tests.aws import embedded

NOW = Instant(1_760_000_000_000)


def test_tries_are_counted_until_one_of_them_ends() -> None:
    """Each record's by itself, and each reader's: both readers get the same records."""
    with embedded() as aws:
        events, export = (
            record_tries(aws.settings, aws.clients, name) for name in ("tries#a", "tries#b")
        )
        assert [events.begin("1", NOW) for _ in range(3)] == [1, 2, 3]
        assert (events.begin("2", NOW), export.begin("1", NOW)) == (1, 1)
        events.forget("1")
        events.forget("never begun")
        assert (events.begin("1", NOW), events.begin("2", NOW)) == (1, 2)


def test_what_nobody_forgets_expires_after_the_stream_has_dropped_it() -> None:
    """Such as the count of a record that was given up."""
    with embedded() as aws:
        record_tries(aws.settings, aws.clients, "tries#a").begin("1", NOW)
        key = {"pk": {"S": "tries#a"}, "sk": {"S": "1"}}
        item = aws.clients.dynamodb.get_item(TableName=aws.settings.table, Key=key)["Item"]
    assert int(item["ttl"]["N"]) - NOW // 1000 > 86_400
