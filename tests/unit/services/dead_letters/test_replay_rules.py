"""What a replay rule and a filter of dead letters may say, and whom they choose."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from ojs_aws.domain.access import View
from ojs_aws.domain.errors import InvalidRequestError
from ojs_aws.domain.job import JobState
from ojs_aws.domain.jobs.lists import Between, Count
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.bulk import MAX_BULK, BulkAction
from ojs_aws.services.dead_letters.search import MAX_ERROR_TYPE, DeadLetterFilter
from ojs_aws.services.dead_letters.service import MAX_OFFSET
from ojs_aws.services.dead_letters.upkeep import (
    MAX_NAME,
    MAX_REPLAYS,
    MAX_RULES,
    read_replay_rules,
)
from ojs_aws.services.jobs.job_lists import END
from tests.contract.test_job_store import NOW, a_job
from tests.simulation.world import World


def rule(**more: Any) -> dict[str, Any]:
    return {"name": "r", **more}


@pytest.mark.parametrize(
    "rules",
    [
        [],
        [rule(name=f"r{number}") for number in range(MAX_RULES)],
        [rule(name="n" * MAX_NAME)],
        [rule(max_replays=1)],
        [rule(max_replays=MAX_REPLAYS)],
        [rule(filter={"queue": "q", "type": "a.b", "error_type": "T"})],
    ],
)
def test_rules_are_read_up_to_their_bounds(rules: list[dict[str, Any]]) -> None:
    assert len(read_replay_rules(json.dumps(rules))) == len(rules)


@pytest.mark.parametrize(
    ("rules", "field"),
    [
        ({}, "replay_rules"),
        ([rule(name=f"r{number}") for number in range(MAX_RULES + 1)], "replay_rules"),
        ([rule(), rule()], "replay_rules"),
        ([rule(name="")], "replay_rules[0].name"),
        ([rule(name="n" * (MAX_NAME + 1))], "replay_rules[0].name"),
        ([rule(max_replays=0)], "replay_rules[0].max_replays"),
        ([rule(max_replays=MAX_REPLAYS + 1)], "replay_rules[0].max_replays"),
        ([rule(filter={"tag": "x"})], "replay_rules[0].filter.tag"),
        ([rule(filter={"queue": 1})], "replay_rules[0].filter.queue"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(rules: Any, field: str) -> None:
    with pytest.raises(InvalidRequestError) as error:
        read_replay_rules(json.dumps(rules))
    assert error.value.details["field"] == field


def test_the_error_type_of_a_filter_is_bounded() -> None:
    DeadLetterFilter(error_type="x" * MAX_ERROR_TYPE)
    with pytest.raises(InvalidRequestError):
        DeadLetterFilter(error_type="x" * (MAX_ERROR_TYPE + 1))


@pytest.mark.parametrize(("as_of", "accepted"), [(NOW, True), (NOW - 1, False), (None, True)])
def test_a_filter_accepts_what_was_a_dead_letter_by_then(
    as_of: Instant | None, accepted: bool
) -> None:
    job = a_job(state=JobState.DISCARDED, is_dead_letter=True, discarded_at=NOW)
    assert DeadLetterFilter(as_of=as_of).accepts(job) is accepted
    assert not DeadLetterFilter(as_of=as_of).accepts(replace(job, is_dead_letter=False))


@pytest.mark.parametrize(
    ("wanted", "between"),
    [
        ({}, None),
        ({"since": Instant(3)}, Between(Instant(3), END)),
        ({"until": Instant(9), "as_of": Instant(5)}, Between(Instant(0), Instant(5))),
        ({"until": Instant(5), "as_of": Instant(9)}, Between(Instant(0), Instant(5))),
    ],
)
def test_a_filter_reads_the_range_that_all_its_instants_allow(
    wanted: dict[str, Any], between: Between | None
) -> None:
    assert DeadLetterFilter(**wanted).between == between


@pytest.mark.parametrize(
    ("limit", "wanted", "is_counted"),
    [
        (3, {}, False),
        (2, {}, True),
        (2, {"type": "demo.echo"}, False),
        (2, {"view": View(types=("demo.*",))}, False),
    ],
)
def test_dead_letters_beyond_one_page_are_counted_where_rows_decide(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    limit: int,
    wanted: dict[str, Any],
    is_counted: bool,
) -> None:
    world.registry.ensure("default", NOW)
    for number in range(3):
        job = a_job(number, state=JobState.DISCARDED, is_dead_letter=True, discarded_at=NOW)
        world.stored.jobs[job.id] = job
    counted: list[object] = []

    def count(*asked: object) -> Count:
        counted.append(asked)
        return Count(3)

    monkeypatch.setattr(world.store, "count", count)
    page = world.backend.dead_letters.service.list(DeadLetterFilter(**wanted), limit)
    assert len(page.jobs) == limit
    assert bool(counted) is is_counted


def test_requests_have_bounds(world: World) -> None:
    service, bulk = world.backend.dead_letters.service, world.backend.dead_letters.bulk
    service.list(DeadLetterFilter(), 1, offset=MAX_OFFSET)
    for offset in (-1, MAX_OFFSET + 1):
        with pytest.raises(InvalidRequestError, match="offset"):
            service.list(DeadLetterFilter(), 1, offset=offset)
    ids = [a_job(number).id for number in range(MAX_BULK + 1)]
    bulk(BulkAction.RETRY, ids[1:])
    with pytest.raises(InvalidRequestError, match="at most"):
        bulk(BulkAction.RETRY, ids)
