"""Backlogs leave executions for API, stream and tick; how the stream is read can be chosen."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import App, Stack
from aws_cdk.assertions import Annotations, Match, Template

from benchmarks.capacity_model import READERS
from ojs_aws.cdk import (
    JobBackend,
    JobBackendProps,
    LambdaWorkerFunction,
    LambdaWorkerFunctionProps,
)
from ojs_aws.pricing import Workload
from tests.infra.conftest import NO_BUNDLING, Synthesised
from tests.infra.templates import of_backend, of_context

QUEUES = [f"q{number}" for number in range(9)]


def with_worker(*queues: str, backend: dict[str, Any], **worker: Any) -> Stack:
    """A backend and a worker of these queues."""
    scope = Stack(App(context=NO_BUNDLING), "S")
    declared = QUEUES[: max(2, len(queues))]
    jobs = JobBackend(scope, "Jobs", JobBackendProps(queues=declared, **backend))
    props = LambdaWorkerFunctionProps(backend=jobs, handler="a.b", queues=queues, **worker)
    LambdaWorkerFunction(scope, "Worker", props)
    return scope


def mappings(scope: Stack, function: str) -> list[dict[str, Any]]:
    """The event source mappings of a function."""
    found = Synthesised(Template.from_stack(scope).to_json()).of("AWS::Lambda::EventSourceMapping")
    return [each for each in found if function in str(each["FunctionName"])]


def test_a_worker_has_a_maximum_concurrency_by_default() -> None:
    """100 invocations for each queue; another number, or none, is the user's choice."""
    for given, most in (({}, 100), ({"max_concurrency": 7}, 7), ({"max_concurrency": None}, None)):
        scope = with_worker("q0", "q1", backend={}, **given)
        found = [each.get("ScalingConfig", {}) for each in mappings(scope, "Worker")]
        assert [each.get("MaximumConcurrency") for each in found] == [most, most]


@pytest.mark.parametrize(
    ("count", "backend", "worker", "warning"),
    [
        (9, {}, {}, "900 executions"),
        (2, {"concurrency_alarm": 199}, {}, "200 executions"),
        (2, {"concurrency_alarm": 200}, {}, ""),
        (1, {}, {"max_concurrency": None}, "any number"),
    ],
)
def test_workers_that_may_take_too_much_are_warned_of(
    count: int, backend: dict[str, Any], worker: dict[str, Any], warning: str
) -> None:
    """At synthesis: the account's functions share one limit."""
    found = Annotations.from_stack(with_worker(*QUEUES[:count], backend=backend, **worker))
    about = found.find_warning("*", Match.string_like_regexp("concurrency_alarm"))
    assert len(about) == bool(warning)
    assert all(warning in str(each.entry.data) for each in about)


@pytest.mark.parametrize(
    ("props", "factor", "window"),
    [
        ({}, 1, 1),
        ({"stream_batching_window_s": 0}, 1, None),
        ({"stream_parallelization_factor": 4, "stream_batching_window_s": 5}, 4, 5),
    ],
)
def test_how_the_stream_is_read_is_a_property_of_the_backend(
    props: dict[str, int], factor: int, window: int | None
) -> None:
    """Parallel invocations for many changes, a window that gathers few."""
    scope = Stack(App(context=NO_BUNDLING), "S")
    JobBackend(scope, "Jobs", JobBackendProps(**props))  # type: ignore[arg-type]
    (mapping,) = mappings(scope, "JobsStream")
    assert mapping["ParallelizationFactor"] == factor
    assert mapping.get("MaximumBatchingWindowInSeconds") == window


def test_the_batching_window_can_be_set_with_the_context() -> None:
    """``cdk deploy -c stream_window_s=0``."""
    for given, window in (({}, 1), ({"stream_window_s": "0"}, None), ({"stream_window_s": "9"}, 9)):
        found = of_context(**given).of("AWS::Lambda::EventSourceMapping")
        (mapping,) = [each for each in found if "BackendStream" in str(each["FunctionName"])]
        assert mapping.get("MaximumBatchingWindowInSeconds") == window


@pytest.mark.parametrize("name", ["OJS_STREAM_DELETES_MESSAGES", "OJS_STREAM_LISTS_COMPLETED"])
def test_completed_jobs_are_left_to_the_stream_by_default(name: str) -> None:
    """In a deployment a function reads the stream; a choice of the user's is kept."""
    for given, shown in (({}, "1"), ({name: "0"}, "0")):
        function = of_backend(settings=given).function("functions.worker_api.handler.handler")
        assert function["Environment"]["Variables"][name] == shown


def test_the_estimate_knows_the_default_of_the_batching_window() -> None:
    """What ``ojs-aws cost`` assumes is what the stack has."""
    assert Workload().stream_window_s == JobBackendProps().stream_batching_window_s == 1


def test_the_capacity_model_knows_the_default_readers_of_a_shard() -> None:
    """What ``benchmarks.capacity`` assumes is what the stack has."""
    assert JobBackendProps().stream_parallelization_factor == READERS
