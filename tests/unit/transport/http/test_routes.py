"""The route table: what it knows, and what it makes of paths."""

from __future__ import annotations

import re

import pytest

from ojs_aws.transport.http.routes import (
    ROUTES,
    Group,
    Route,
    canonical_path,
    find,
    group_of,
    handler_of,
    methods_of,
)

ID = "019539a4-b68c-7def-8000-1a2b3c4d5e6f"


def test_operations_and_paths_are_named_once() -> None:
    """Two routes of one method and path, or of one operation, would hide each other."""
    assert len({route.operation for route in ROUTES}) == len(ROUTES)
    pairs = [(route.method, path) for route in ROUTES for path in route.paths]
    assert len(set(pairs)) == len(pairs)


def test_what_would_take_effect_twice_is_not_repeatable() -> None:
    """A client that lost the answer asks a person, or leaves it to the caller."""
    once = {route.operation for route in ROUTES if not route.is_repeatable}
    assert once == {
        *("bulk_enqueue", "bulk_cancel", "bulk_retry", "bulk_delete", "fetch", "fail", "fail_job"),
        *("post_progress", "report_progress_of", "create_queue", "purge_jobs", "trigger_cron"),
        *("bulk_cancel_jobs", "bulk_retry_jobs", "bulk_delete_jobs", "cancel_job", "retry_job"),
        *("retry_dead_letter", "retry_dead_letters", "delete_dead_letter", "delete_dead_letters"),
        *("purge_dead_letters", "purge_old_dead_letters", "deregister_worker", "delete_cron"),
        *("register_schema", "delete_schema", "delete_schema_version", "skip_sequence"),
    }


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ("/ojs/v1/jobs", "/ojs/v1/jobs"),
        ("/ojs/v1/jobs/", "/ojs/v1/jobs"),
        ("/v1/jobs", "/ojs/v1/jobs"),
        ("/ojs/v1/ojs/v1/jobs", "/ojs/v1/jobs"),
        ("/ojs/v1/ojs/v1", "/ojs/v1/ojs/v1"),
        ("/jobs", "/jobs"),
        ("/", "/"),
        ("/v1", "/v1"),
    ],
)
def test_odd_prefixes_mean_the_base_path(sent: str, meant: str) -> None:
    """CLARIFICATIONS, prefix oddities: some clients repeat or shorten the base path."""
    assert canonical_path(sent) == meant


@pytest.mark.parametrize(
    ("method", "path", "operation"),
    [
        ("POST", "/ojs/v1/jobs", "push"),
        ("POST", "/ojs/v1/jobs/batch", "push_batch"),
        ("GET", f"/ojs/v1/jobs/{ID}", "info"),
        ("DELETE", f"/v1/jobs/{ID}", "cancel"),
        ("POST", f"/ojs/v1/jobs/{ID}/activate", "activate"),
        ("POST", f"/ojs/v1/jobs/{ID}/ack", "ack_job"),
        ("POST", f"/ojs/v1/jobs/{ID}/nack", "fail_job"),
        ("POST", "/ojs/v1/workers/beat", "heartbeat"),
        ("POST", f"/ojs/v1/dead-letter/{ID}/retry", "retry_dead_letter"),
        ("GET", "/health", "health"),
        ("GET", "/ready", "health"),
        ("GET", "/metrics", "metrics"),
    ],
)
def test_paths_and_their_aliases_lead_to_the_operation(
    method: str, path: str, operation: str
) -> None:
    """HTTP binding, section 2, and the aliases that documents and clients use."""
    route = find(method, path)
    assert route is not None
    assert route.operation == operation


def test_what_is_not_in_the_table_is_the_system_functions() -> None:
    """API Gateway sends it there too, by its $default route."""
    assert find("PUT", "/ojs/v1/jobs") is None
    assert group_of("PUT", "/ojs/v1/jobs") is Group.SYSTEM
    assert group_of("GET", "/jobs") is Group.SYSTEM
    assert group_of("POST", "/ojs/v1/jobs") is Group.PRODUCER


def test_the_methods_of_a_path_are_known() -> None:
    """What an answer to a wrong method lists."""
    assert methods_of(f"/ojs/v1/jobs/{ID}") == ("DELETE", "GET", "PATCH")
    assert methods_of("/nowhere") == ()


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.operation)
def test_a_path_knows_the_methods_of_its_own_routes_only(route: Route) -> None:
    """And not those of ids, names and versions that might stand in the place of a word."""
    for path in route.paths:
        own = {method for each in ROUTES if path in each.paths for method in each.methods}
        assert {*methods_of(re.sub(r"<\w+>", "x", path))} == own


def test_every_operation_has_a_handler() -> None:
    """They are imported late; a name that is wrong must not wait for its first request."""
    for route in ROUTES:
        assert callable(handler_of(route))
