"""Outcomes of jobs, for who enqueued them (ojs-results, section 10)."""

from __future__ import annotations

from typing import Final

from ojs_aws.services.outcomes.results import check_ids, is_job_id
from ojs_aws.transport.http.authorization import within_bounds
from ojs_aws.transport.http.calls import Answer, Call
from ojs_aws.transport.http.dialects.outcomes import ids_of, result_answer, results_answer
from ojs_aws.transport.http.queries import boolean_of, number_of

AGAIN: Final = {"Retry-After": "1"}


def get_result(call: Call) -> Answer:
    """What became of a job; with ``wait=true`` the answer may come when it is over."""
    query = call.request.query
    results = call.backend.results
    if boolean_of(query, "wait"):
        return Answer(result_answer(results.wait(call.job_id, number_of(query, "timeout") * 1000)))
    job = results(call.job_id)
    return Answer(result_answer(job), headers={} if job.state.is_terminal else AGAIN)


def get_results(call: Call) -> Answer:
    """What became of several jobs."""
    ids = ids_of(call.members())
    check_ids(ids)
    seen = within_bounds(call, [job_id for job_id in ids if is_job_id(job_id)])
    jobs = call.backend.results.many(seen) if seen else {}
    return Answer(results_answer({job_id: jobs.get(job_id) for job_id in ids}))
