"""What limits a queue and a deployment is what jobs share; the capacity model counts it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from benchmarks import log_readers
from benchmarks.capacity import (
    FEW_JOBS,
    NAMES,
    ORDINARY,
    RATES,
    SERVERS,
    Counted,
    break_even,
    count,
    dollars,
    tables,
)
from benchmarks.capacity_model import (
    HEADROOM,
    LARGE_CHUNK,
    PARTITION_WRITES,
    Load,
    appends,
    chunk_units,
    deployments_for,
    executions,
    fullest_line,
    log_rate,
    log_units,
    mixed,
    needs,
    published_rate,
    queue_rate,
    queues_for,
    running,
)
from benchmarks.event_appends import simulate
from benchmarks.hot_keys import Writes, observe
from benchmarks.log_readers import JOB_RECORDS, PUT_MS, RATE, READERS, ways
from benchmarks.one_item import KINDS, units_of
from ojs_aws.adapters.dynamodb.queues.totals import QUEUES
from ojs_aws.domain.jobs.ready_keys import line_of
from ojs_aws.pricing import MONTH_S, PRICES

pytestmark = pytest.mark.thorough

DOCS: Final = Path(__file__).resolve().parents[2] / "docs"
PAGE: Final = "\n".join(
    (DOCS / name).read_text("utf-8")
    for name in ("capacity.md", "capacity-large.md", "wide-queues.md")
)
SENTENCES: Final = re.sub(r"\s+", " ", PAGE)
TOTALS = QUEUES.key("default")["pk"]["S"]
COMPLETED = "completed#default"


@pytest.fixture(scope="module")
def counted() -> Counted:
    """Jobs from PUSH to ACK, of each kind of life."""
    return count()


@pytest.fixture(scope="module")
def writes(counted: Counted) -> Writes:
    """Those that begin at once and succeed at their first attempt."""
    return counted.ordinary


def test_a_wide_queue_spreads_all_that_a_queue_is_hot_for() -> None:
    """Its lines share the writes of one list, and no other key becomes hotter."""
    one, four = observe(FEW_JOBS), observe(FEW_JOBS, lines=4)
    assert four.table.keys() == one.table.keys()
    assert four.table["job"] == one.table["job"]
    for name in ("ready", "waiting"):
        lines = [f"{line_of('default', shard)}|{name}" for shard in range(4)]
        assert sum(four.index[line] for line in lines) == one.index[f"default|{name}"]
        assert max(four.index[line] for line in lines) < one.index[f"default|{name}"]
    assert sum(four.index.values()) == sum(one.index.values())


def test_what_is_one_item_ends_a_wide_queue(counted: Counted) -> None:
    """A start takes a slot and gives it back, in transactions; the others are one update."""
    limit, bound, key = counted.one_item.values()
    assert limit == 4
    assert 1 < bound < 1.1
    assert 1 <= key < 1.05
    assert units_of(KINDS["the counter of a bound"], 10) == pytest.approx(1.1)


def test_the_lines_of_a_wide_queue_are_about_equally_full() -> None:
    """A tenth above the average, at most; ten thousand jobs a second of all kinds find room."""
    counted = count(FEW_JOBS)
    for lines in (2, 16, 64):
        assert 1 <= fullest_line(lines) * lines < 1.15
    units = mixed(counted.lives, counted.beating)
    assert 10_000 * units * fullest_line(64) < PARTITION_WRITES


def test_jobs_share_their_lists_the_totals_and_the_event_log_alone(
    writes: Writes,
) -> None:
    """A new hot key would be a new limit, and belongs into docs/capacity.md."""
    lists = ["default|ready", "default|waiting"]
    once_a_minute = {"tally#default"}
    assert set(writes.hot()) - once_a_minute == {*lists, COMPLETED, "events", TOTALS}
    assert [writes.per_job(name) for name in lists] == [2, 2]
    assert set(NAMES) == {*lists, COMPLETED, "events", TOTALS}
    assert writes.per_job("job") == 3


def test_what_jobs_share_beside_their_queue_is_written_in_batches(writes: Writes) -> None:
    assert writes.per_job("events") < 0.25
    assert writes.per_job(TOTALS) < 0.1
    assert writes.per_job(COMPLETED) < 0.1


def test_a_queue_passes_five_hundred_jobs_a_second(writes: Writes) -> None:
    assert queue_rate(writes) == 500


def test_jobs_that_change_their_place_more_often_make_a_queue_slower(counted: Counted) -> None:
    """A schedule writes to the waiting list four times, a retry six times; ready, too."""
    lists = {
        name: [writes.per_job(f"default|{each}") for each in ("ready", "waiting")]
        for name, writes in counted.lives.items()
    }
    assert lists == {
        ORDINARY: [2, 2],
        "scheduled": [2, 4],
        "with one failed attempt": [4, 6],
        "with two failed attempts": [6, 10],
    }
    rates = [round(queue_rate(writes)) for writes in counted.lives.values()]
    assert rates == [500, 250, 167, 100]
    assert queue_rate(counted.ordinary, is_shared=True) == 250


def test_heartbeats_fill_the_waiting_list_of_fifteen_thousand_jobs(counted: Counted) -> None:
    """Each second one moves a row: one write unit in fifteen seconds for each running job."""
    assert running(counted.beating, counted.ordinary) == 15_000


def test_readers_that_append_at_once_are_refused_and_billed(writes: Writes) -> None:
    """One reader by itself never is; more of them are now and then, the more the busier."""
    assert simulate(300, 1).refused < 0.01
    refused = [appends(rate, writes).refused for rate in (500, 1_000, 2_000, 3_000)]
    assert refused == sorted(refused)
    assert 0 < refused[0] < 0.05
    assert refused[-1] < 0.2


def test_the_logs_own_code_is_refused_as_the_simulation_says() -> None:
    """At 3,000 jobs/s, 16 readers and puts of 10 ms: once for more than five appends."""
    *_, way = ways(PUT_MS).values()
    found = log_readers.count(RATE * JOB_RECORDS, READERS, way=way)
    assert found.refused < 0.2
    assert found.behind_s == 0
    simulated = simulate(RATE * JOB_RECORDS, READERS, way=way)
    assert found.refused == pytest.approx(simulated.refused, abs=0.06)
    assert found.appends == pytest.approx(simulated.appends, rel=0.1)


def test_smaller_batches_and_puts_without_a_read_are_refused_more_often() -> None:
    """Each of the two is worth it by itself."""
    found = [simulate(RATE * JOB_RECORDS, READERS, way=way) for way in ways(PUT_MS).values()]
    assert [each.refused for each in found] == sorted(
        (each.refused for each in found), reverse=True
    )
    assert found[0].refused > 5 * found[-1].refused


def test_a_deployment_ends_where_the_partition_of_its_event_log_is_full(writes: Writes) -> None:
    """With refused puts among the write units; large chunks fill it earlier."""
    assert chunk_units(writes) == 15
    small, large = (log_rate(writes, chunk) for chunk in (None, LARGE_CHUNK))
    assert 4_000 < large < small < 9_000
    assert log_units(small * 0.95, writes, 15) < 1_000 < log_units(small * 1.05, writes, 15)
    rows = {"without wide queues | 15": small, "the same, with long names | 30": large}
    for row, rate in rows.items():
        assert f"| {row} | {float(f'{rate:.2g}'):,.0f} |" in SENTENCES


def test_a_deployment_with_wide_queues_takes_ten_thousand_jobs_a_second() -> None:
    """Its event log is packed by columns."""
    rate = log_rate(observe(100, lines=2))
    assert rate >= 10_000
    assert f"| with wide queues | 10 | {float(f'{rate:.2g}'):,.0f} |" in SENTENCES


def test_refused_puts_cost_what_the_page_says(writes: Writes) -> None:
    """From the rate that the pages call busy to the end of a deployment."""
    spans = []
    for rate in (200, 3_000):
        found = appends(rate, writes)
        units = found.appends * found.refused * chunk_units(writes) / rate
        spans.append(f"${units * PRICES['write unit'] * 1e6:.2f}")
    assert f"Refused puts cost {spans[0]} to {spans[1]} a million jobs" in SENTENCES


def test_a_new_tables_stream_publishes_fewer_jobs_than_its_table_takes(writes: Writes) -> None:
    """Four shards, which one invocation at a time reads; a larger factor helps."""
    rate = published_rate(writes, 4)
    assert f"publishes some {round(rate, -1):,.0f} jobs a second" in SENTENCES
    assert 1.8 < published_rate(writes, 4, 2) / rate < 2.2
    assert published_rate(writes, 8) == published_rate(writes, 4, 2)


def test_the_bus_is_the_part_of_the_dollars_that_the_page_says() -> None:
    """One event a job, to a hundred dollars."""
    dollars = round(1_000 * MONTH_S * PRICES["bus event"], -2)
    assert f"Of the dollars, {dollars:,.0f} are for the event bus" in SENTENCES


def test_the_page_has_the_tables_of_the_command(counted: Counted) -> None:
    """``python -m benchmarks.capacity --docs`` writes them; some units of a job differ a little."""
    for table in tables(counted, [Load(rate=rate) for rate in RATES], SERVERS):
        if table.name == "keys":
            assert all(f"| {name} |" in PAGE for name in NAMES.values())
        else:
            assert table.put_into(PAGE) == PAGE, table.name


def test_a_thousand_jobs_a_second_fit_an_account_whose_table_is_warm(writes: Writes) -> None:
    load = Load(rate=1_000)
    short = {need.resource for need in needs(load, writes) if need.verdict != "fits"}
    assert short == {"index of a table made today", "stream of a table made today: readers"}
    assert (queues_for(load, writes), deployments_for(load, writes)) == (3, 1)


def test_a_hundred_thousand_need_more_deployments_for_the_event_log(writes: Writes) -> None:
    load = Load(rate=100_000)
    beyond = {need.resource for need in needs(load, writes) if need.verdict.startswith("BEYOND")}
    assert beyond == {"event log"}
    each = load.rate / deployments_for(load, writes)
    assert each <= log_rate(writes) * HEADROOM


def test_the_functions_need_an_execution_for_ten_requests_a_second(writes: Writes) -> None:
    """Lambda's rate for each execution; longer requests need more of them."""
    assert executions(3_000, 0.03) == 300
    assert executions(300, 0.5) == 150
    found = {need.resource: need for need in needs(Load(rate=1_000), writes)}
    assert found["API's functions, HTTP workers one by one"].need == 300
    assert found["API's functions, HTTP workers in tens"].need == 30
    assert found["API's functions, pushes for Lambda workers"].need == 100
    assert found["API Gateway, one by one"].need == 3_000


def test_long_jobs_meet_the_messages_in_flight(writes: Writes) -> None:
    load = Load(rate=1_000, job_s=300)
    beyond = {need.resource for need in needs(load, writes) if need.verdict.startswith("BEYOND")}
    assert "SQS in flight, Lambda workers" in beyond


@pytest.mark.parametrize("http", [True, False])
def test_at_the_break_even_both_cost_the_same(writes: Writes, http: bool) -> None:
    load = Load(rate=1)
    jobs = break_even(200, load, writes, http=http)
    month = 30 * 24 * 3600
    assert dollars(Load(rate=jobs / month), writes, http=http) == pytest.approx(200)
