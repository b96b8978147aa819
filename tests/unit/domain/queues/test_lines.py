"""Tests how jobs are spread over the lines of a queue, and how lines are named."""

from __future__ import annotations

from collections import Counter

import pytest

from ojs_aws.domain.attributes import QUEUE_PATTERN
from ojs_aws.domain.queues.lines import MAX_SHARDS, line_of, lines_of, read_line, shard_of

JOBS = [f"019539a4-b68c-7def-8000-{number:012x}" for number in range(6400)]

PINNED = [13, 1, 9, 2, 2, 12]
PINNED_SEQUENCE = 3
"""Shards that were given once: a sequence that goes on must find its shard again."""


@pytest.mark.parametrize("shards", [0, 1])
def test_a_queue_of_one_shard_has_all_jobs_in_shard_0(shards: int) -> None:
    assert {shard_of(job, shards) for job in JOBS} == {0}
    assert shard_of(JOBS[0], shards, tenant="acme", sequence="order-1") == 0


@pytest.mark.parametrize("shards", [2, 3, 16, MAX_SHARDS])
def test_jobs_are_spread_evenly(shards: int) -> None:
    jobs = Counter(shard_of(job, shards) for job in JOBS)

    assert set(jobs) == set(range(shards))
    assert max(jobs.values()) < 1.5 * len(JOBS) / shards


def test_the_shard_of_a_job_is_the_same_in_each_process_and_version() -> None:
    assert [shard_of(job, 16) for job in JOBS[:6]] == PINNED
    assert shard_of("", 16, tenant="acme", sequence="order-4711") == PINNED_SEQUENCE


def test_the_jobs_of_a_sequence_are_in_one_shard() -> None:
    shards = {shard_of(job, 16, tenant="acme", sequence="order-1") for job in JOBS[:100]}

    assert len(shards) == 1


def test_sequences_of_tenants_are_spread_by_tenant_and_key() -> None:
    by_tenant = {shard_of("", 64, tenant=f"t{each}", sequence="s") for each in range(100)}
    by_key = {shard_of("", 64, tenant="t", sequence=f"s{each}") for each in range(100)}

    assert len(by_tenant) > 32
    assert len(by_key) > 32
    assert shard_of("", 64, tenant="a", sequence="bc") != shard_of(
        "", 64, tenant="ab", sequence="c"
    )


def test_a_tenant_alone_does_not_choose_the_shard() -> None:
    assert shard_of(JOBS[0], 64, tenant="acme") == shard_of(JOBS[0], 64)


def test_the_line_of_shard_0_has_the_name_of_the_queue() -> None:
    assert line_of("mail", 0) == "mail"
    assert line_of("mail", 3) == "mail~3"


def test_all_lines_of_a_queue_are_named() -> None:
    assert lines_of("mail", 3) == ("mail", "mail~1", "mail~2")
    assert lines_of("mail", 1) == lines_of("mail", 0) == ("mail",)


@pytest.mark.parametrize("shard", [0, 1, 63])
def test_a_line_is_read_back(shard: int) -> None:
    assert read_line(line_of("mail-a.b", shard)) == ("mail-a.b", shard)


def test_no_name_of_a_queue_is_the_line_of_another() -> None:
    assert "~" not in QUEUE_PATTERN
