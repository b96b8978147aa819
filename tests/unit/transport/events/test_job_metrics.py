"""The standard metrics of jobs, counted where every transition passes (ojs-observability, 8)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from ojs_aws.adapters.dynamodb.images import read_image
from ojs_aws.config import Settings
from ojs_aws.domain.events import Event
from ojs_aws.domain.json_text import encode
from ojs_aws.domain.tenants import OTHER_TENANTS
from ojs_aws.domain.timestamps import Instant
from ojs_aws.services.jobs.fetch.request import FetchRequest
from ojs_aws.transport.events.job_metrics import (
    MAX_NAMES,
    TENANT_DIMENSION,
    TYPE_DIMENSION,
    JobMetrics,
    MeasuredByLabel,
    MeasuredByQueue,
    MetricNames,
    measure_in_log,
    measured,
)
from ojs_aws.transport.events.stream import build_stream
from ojs_aws.transport.events.tick import measure_ages
from tests.api import Api
from tests.simulation.world import World
from tests.unit.transport.events.test_stream import batch, record_of


def made(kind: str, queue: str = "email", **data: Any) -> Event:
    """An event of a job."""
    return Event(
        id=f"evt_{kind}",
        type=kind,
        time=Instant(0),
        queue=queue,
        subject="j",
        data=encode(data),
        job_type="a.b",
    )


def test_obs_004_and_005_jobs_are_counted_and_timed_by_queue() -> None:
    """Counters of what became of them; seconds of execution and of waiting."""
    found = measured(
        [
            made("job.enqueued"),
            made("job.started", attempt=1, queue_time_ms=1500),
            made("job.failed", duration_ms=250),
            made("job.retrying"),
            made("job.started", attempt=2),
            made("job.completed", duration_ms=2000),
            made("job.discarded", dead_letter=True),
            made("job.cancelled", queue="other"),
            made("job.expired", queue="other"),
            made("job.heartbeat", queue="third"),
            made("worker.started", queue=""),
        ]
    )
    assert set(found) == {"email", "other"}
    assert +found["email"].counts == {
        "ojs.job.enqueued": 1,
        "ojs.job.retried": 1,
        "ojs.job.completed": 1,
        "ojs.job.failed": 1,
        "ojs.job.dead_lettered": 1,
    }
    assert found["email"].seconds == {
        "ojs.job.queue_time": [1.5],
        "ojs.job.duration": [0.25, 2.0],
    }
    assert +found["other"].counts == {
        "ojs.job.cancelled": 1,
        "ojs.job.expired": 1,
        "ojs.job.failed": 1,
    }


@dataclass
class Context:
    """An invocation."""

    function_name: str = "stream"


def test_the_stream_measures_what_it_published_once() -> None:
    """A record that must be repeated is counted when it is reported."""
    world = World()
    reply = Api(world.backend).post("/jobs", {"type": "demo.echo", "args": [1]})
    waiting = world.stored.jobs[reply.json["id"]]
    world.clock.advance(s=2)
    world.backend.jobs.fetch(FetchRequest(("default",)))
    records = batch([waiting, world.stored.jobs[waiting.id]])
    found: list[Mapping[str, JobMetrics]] = []
    fails = [True]

    def hooks(event: Event) -> None:
        if event.type == "job.started" and fails:
            fails.clear()
            raise RuntimeError("a hook fails once")

    handler = build_stream(
        world.backend, read_image, hooks=hooks, measure=lambda each, _: found.append(each)
    )
    assert handler({"Records": records}, Context())["batchItemFailures"]
    assert +found[0]["default"].counts == {"ojs.job.enqueued": 1}
    assert found[0]["default"].seconds == {}
    handler({"Records": records[1:]}, Context())
    assert found[1]["default"].seconds == {"ojs.job.queue_time": [2.0]}


def lines_of(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """The lines of the log that are metrics."""
    return [
        line
        for text in capsys.readouterr().out.splitlines()
        if "_aws" in (line := json.loads(text))
    ]


def test_obs_004_jobs_are_counted_by_type_too_where_it_is_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Beside the ones by queue, which alarms and the dashboard stand on."""
    for by_type in (False, True):
        world = World(settings=Settings(metrics_by_type=by_type))
        reply = Api(world.backend).post("/jobs", {"type": "demo.echo", "args": [1]})
        capsys.readouterr()
        records = batch([world.stored.jobs[reply.json["id"]]])
        build_stream(world.backend, read_image)({"Records": records}, Context())
        counted = [line for line in lines_of(capsys) if "ojs.job.enqueued" in line]
        assert [line.get("type") for line in counted] == [None, "demo.echo"][: 1 + by_type]
        dimensions = counted[-1]["_aws"]["CloudWatchMetrics"][0]["Dimensions"][0]
        assert ("type" in dimensions) is by_type


def test_mt_006_jobs_are_counted_by_tenant_too_where_it_is_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Those without a tenant are in the metrics of their queue alone."""
    for by_tenant in (False, True):
        world = World(settings=Settings(metrics_by_tenant=by_tenant))
        api = Api(world.backend)
        ids = [api.push(meta={"tenant_id": name}) for name in ("acme", "beta")] + [api.push()]
        capsys.readouterr()
        jobs = [world.stored.jobs[each] for each in ids]
        records = [record_of(number, None, job) for number, job in enumerate(jobs)]
        build_stream(world.backend, read_image)({"Records": records}, Context())
        counted = [line for line in lines_of(capsys) if "ojs.job.enqueued" in line]
        names = [None, "acme", "beta"][: 1 + 2 * by_tenant]
        assert [line.get("tenant_id") for line in counted] == names
        assert [line["ojs.job.enqueued"] for line in counted] == [[3], [1], [1]][: len(names)]


def test_tenants_beyond_a_bound_are_counted_together(capsys: pytest.CaptureFixture[str]) -> None:
    """Under a name that no tenant can have."""
    labels = MetricNames(most=1, other=OTHER_TENANTS)
    measure = MeasuredByLabel(MetricNames(), TENANT_DIMENSION, labels)
    measure([(name, made("job.enqueued", queue="q")) for name in ("a", "b", "", "c")], "stream")
    found = {line["tenant_id"]: line["ojs.job.enqueued"] for line in lines_of(capsys)}
    assert found == {"a": [1], "_other": [2]}


def test_types_that_producers_make_up_make_no_metrics_without_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The first ones have names, the others one together."""
    measure = MeasuredByLabel(MetricNames(most=1), TYPE_DIMENSION, MetricNames())
    for n in range(MAX_NAMES + 5):
        measure([(f"a.b{n}", made("job.enqueued", queue=f"q{n}"))], "stream")
    lines = lines_of(capsys)
    assert len({line["type"] for line in lines}) == MAX_NAMES + 1
    assert [line["type"] for line in lines[-5:]] == ["other"] * 5
    assert {line["queue"] for line in lines} == {"q0", "other"}


def test_queues_that_producers_make_up_make_no_metrics_without_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Declared queues and the first others have names, later ones are counted together."""
    measure = MeasuredByQueue(MetricNames(["declared"]))
    names = [f"q{n}" for n in range(MAX_NAMES + 5)]
    for name in names:
        measure(measured([made("job.enqueued", queue=name)]), "stream")
    assert {line["queue"] for line in lines_of(capsys)} == {*names[:MAX_NAMES], "other"}
    batch = [made("job.enqueued", queue=name) for name in ("declared", *names[-3:])]
    batch += [made("job.started", queue=names[-1], attempt=1, queue_time_ms=500)]
    measure(measured(batch), "stream")
    declared, other = (line for line in lines_of(capsys) if "ojs.job.enqueued" in line)
    assert (declared["queue"], declared["ojs.job.enqueued"]) == ("declared", [1.0])
    assert (other["queue"], other["ojs.job.enqueued"]) == ("other", [3.0])
    assert other["ojs.job.queue_time"] == [0.5]


def test_the_ages_of_queues_without_end_are_published_together(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The longest of them; the names of one tick stay those of the next."""
    names = MetricNames(["declared"], most=1)
    measure_ages({"a": 1}, "tick", names)
    measure_ages({"a": 2, "b": 3, "c": 9, "declared": 4}, "tick", names)
    ages = [(line["queue"], line["OldestAvailable"]) for line in lines_of(capsys)]
    assert ages == [("a", [1.0]), ("other", [9.0]), ("declared", [4.0]), ("a", [2.0])]


def test_the_metrics_are_a_line_of_the_log_for_each_queue(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """In CloudWatch's embedded format, with the function and the queue as dimensions."""
    events = [made("job.enqueued"), made("job.enqueued", queue="other")]
    measure_in_log(measured([*events, made("job.started", attempt=1, queue_time_ms=500)]), "stream")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["queue"] for line in lines] == ["email", "other"]
    (described,) = lines[0]["_aws"]["CloudWatchMetrics"]
    assert (described["Namespace"], sorted(described["Dimensions"][0])) == (
        "OJS",
        ["queue", "service"],
    )
    assert lines[0]["service"] == "stream"
    assert lines[0]["ojs.job.enqueued"] == [1.0]
    assert lines[0]["ojs.job.queue_time"] == [0.5]


def test_dead_letters_of_all_queues_are_counted_without_a_queue(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One alarm watches them, however many queues there are."""
    events = [made("job.discarded", queue=name, dead_letter=True) for name in ("a", "a", "b")]
    measure_in_log(measured([*events, made("job.discarded", queue="c")]), "stream")
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (whole,) = [line for line in lines if "queue" not in line]
    assert whole["ojs.job.dead_lettered"] == [3.0]
    assert whole["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["service"]]
    assert whole["service"] == "stream"


def test_many_times_stay_within_what_a_line_takes(capsys: pytest.CaptureFixture[str]) -> None:
    """Spread over all of them."""
    measure_in_log(measured([made("job.completed", duration_ms=n) for n in range(1000)]), "stream")
    (line,) = [json.loads(each) for each in capsys.readouterr().out.splitlines()]
    assert line["ojs.job.completed"] == [1000.0]
    assert len(line["ojs.job.duration"]) < 100
    assert max(line["ojs.job.duration"]) > 0.98


def test_the_longest_waiting_queues_are_published(capsys: pytest.CaptureFixture[str]) -> None:
    """So many of them; the longest first."""
    measure_ages({f"q{n}": n for n in range(1, 80)}, "tick", MetricNames())
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(lines) == 50
    assert (lines[0]["queue"], lines[0]["OldestAvailable"]) == ("q79", [79.0])


def test_refused_puts_of_the_log_are_a_metric_only_where_there_were_some(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A month without them pays nothing for it."""
    world = World()
    reply = Api(world.backend).post("/jobs", {"type": "demo.echo", "args": [1]})
    capsys.readouterr()
    handler = build_stream(world.backend, read_image)
    records = {"Records": batch([world.stored.jobs[reply.json["id"]]])}
    handler(records, Context())
    assert not [line for line in lines_of(capsys) if "EventPutsRefused" in line]
    monkeypatch.setattr(world.events, "take_refused", lambda: 3)
    handler(records, Context())
    (line,) = [line for line in lines_of(capsys) if "EventPutsRefused" in line]
    assert line["EventPutsRefused"] == [3.0]
    assert line["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["service"]]
