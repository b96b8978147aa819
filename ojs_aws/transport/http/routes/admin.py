"""Operators: jobs found and changed, statistics, settings (ojs-admin-api)."""

from __future__ import annotations

from typing import Final

from ojs_aws.transport.http.routes.route import BASE, Group, Route

ROUTES: Final[tuple[Route, ...]] = (
    Route(
        method="GET",
        path=f"{BASE}/admin/jobs",
        operation="list_jobs",
        group=Group.OPERATOR,
        home="admin_jobs",
        summary="List or search jobs by queue, state, type and time",
        response="JobListAnswer",
        query=(
            "queue",
            "job_states",
            "job_type_or_prefix",
            "since_time",
            "until",
            "limit",
            "cursor",
            "offset",
            "page",
            "per_page",
            "order",
            "sort",
        ),
    ),
    Route(
        method="GET",
        path=f"{BASE}/admin/jobs/<job_id>",
        operation="get_job_detail",
        group=Group.OPERATOR,
        home="admin_jobs",
        summary="Read a job with its history",
        response="JobDetailAnswer",
        query=("events",),
        errors=(404,),
    ),
    Route(
        method="POST",
        path=f"{BASE}/admin/jobs/<job_id>/cancel",
        operation="cancel_job",
        group=Group.OPERATOR,
        home="admin_jobs",
        summary="Cancel a job",
        response="JobAnswer",
        errors=(404, 409),
    ),
    Route(
        method="POST",
        path=f"{BASE}/admin/jobs/<job_id>/retry",
        operation="retry_job",
        group=Group.OPERATOR,
        home="admin_jobs",
        summary="Make a discarded job available again",
        response="JobAnswer",
        errors=(404, 409, 413),
    ),
    *(
        Route(
            method="POST",
            path=f"{BASE}/admin/jobs/bulk/{action}",
            operation=f"bulk_{action}_jobs",
            group=Group.OPERATOR,
            home="admin_jobs",
            summary=summary,
            request="JobBulkBody",
            response="JobBulkAnswer",
            needs_body=True,
        )
        for action, summary in (
            ("retry", "Retry the discarded jobs of a filter, a hundred at a time"),
            ("cancel", "Cancel the jobs of a filter that have not ended, a hundred at a time"),
            ("delete", "Delete the jobs of a filter that have ended, a hundred at a time"),
        )
    ),
    Route(
        method="GET",
        path=f"{BASE}/admin/stats",
        operation="show_stats",
        group=Group.OPERATOR,
        home="admin_system",
        summary="Count the jobs of all queues",
        response="TotalsAnswer",
    ),
    Route(
        method="GET",
        path=f"{BASE}/admin/metrics",
        operation="show_gauges",
        group=Group.OPERATOR,
        home="admin_system",
        summary="Count jobs and workers, in the Prometheus text format",
        media_type="text/plain",
    ),
    Route(
        method="GET",
        path=f"{BASE}/admin/stats/history",
        operation="show_stats_history",
        group=Group.OPERATOR,
        home="admin_system",
        summary="Count what ended in each period",
        response="HistoryAnswer",
        query=("period", "since_time", "until", "queue"),
    ),
    Route(
        method="GET",
        path=f"{BASE}/admin/system/config",
        operation="show_config",
        group=Group.OPERATOR,
        home="admin_system",
        summary="Show how the backend is set, without names of resources or secrets",
        response="ConfigAnswer",
    ),
    Route(
        method="POST",
        path=f"{BASE}/admin/repair",
        operation="repair",
        group=Group.OPERATOR,
        home="repair",
        summary="Send the messages again that SQS lost, after a restore of the table",
        request="RepairBody",
        response="RepairAnswer",
    ),
)
