"""Of several declarations of a type, that one counts by which the test sent the job."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ojs_aws import Jobs
from ojs_aws.testing.handlers import DeclaredHandlers, FaultyHandlers, JobHandlers
from ojs_aws.typed_jobs.declarations import JobDeclaration
from ojs_aws.worker.registry import HandlerRegistry, NoHandlerError


def function(module: str = "shop") -> Callable[[], None]:
    """Return a function that is in a module."""

    def run() -> None: ...

    run.__module__ = module
    return run


def declaring(*types: str, module: str = "shop") -> Jobs:
    jobs = Jobs()
    for each in types:
        jobs.job(each)(function(module))
    return jobs


def of(jobs: Jobs, job_type: str) -> JobDeclaration:
    return next(each for each in jobs if each.type == job_type)


def test_the_only_declaration_of_a_type_counts() -> None:
    jobs = declaring("choice.first", "choice.second")
    handlers = DeclaredHandlers(jobs)
    assert handlers.declaration("choice.second") is of(jobs, "choice.second")
    assert handlers.declaration("choice.other") is None


def test_of_two_declarations_the_one_counts_that_was_sent() -> None:
    jobs, _others = declaring("choice.twice"), declaring("choice.twice", module="other")
    handlers = DeclaredHandlers()
    assert handlers.declaration("choice.twice") is None
    with pytest.raises(NoHandlerError, match="is declared by several Jobs, in other, shop:"):
        handlers.jobs_of("choice.twice")
    handlers.note(of(jobs, "choice.twice"))
    assert handlers.declaration("choice.twice") is of(jobs, "choice.twice")
    assert handlers.jobs_of("choice.twice") is jobs


def test_only_modules_that_declare_the_type_are_named() -> None:
    jobs, _others = declaring("choice.named"), declaring("choice.named")
    jobs.job("choice.beside")(function("beside"))
    with pytest.raises(NoHandlerError, match="is declared by several Jobs, in shop:"):
        DeclaredHandlers().jobs_of("choice.named")


def test_what_was_sent_by_other_jobs_does_not_count_here() -> None:
    jobs, others = declaring("choice.here"), declaring("choice.here")
    handlers = DeclaredHandlers(jobs)
    handlers.note(of(others, "choice.here"))
    assert handlers.declaration("choice.here") is of(jobs, "choice.here")
    assert handlers.jobs_of("choice.here") is jobs


def test_of_two_versions_the_one_counts_that_was_sent() -> None:
    jobs = Jobs()
    for versions in ("1.0", "2.0"):
        jobs.job("choice.version", versions=versions)(function())
    first, second = jobs
    handlers = DeclaredHandlers(jobs)
    assert handlers.declaration("choice.version") is first
    handlers.note(second)
    assert handlers.declaration("choice.version") is second


def test_a_remote_job_has_no_handler_beside_one_that_has() -> None:
    jobs = declaring("choice.local")
    jobs.remote("choice.remote")(function())
    handlers = DeclaredHandlers(jobs)
    assert handlers.find("choice.local").type == "choice.local"
    with pytest.raises(NoHandlerError, match=r"'choice\.remote' is remote"):
        handlers.find("choice.remote")


def test_a_job_that_other_jobs_declare_is_said_to_be_theirs() -> None:
    jobs = declaring("choice.elsewhere")
    chosen = JobHandlers(jobs=Jobs())
    assert "Other Jobs declare it" in chosen._declared_elsewhere("choice.elsewhere")
    assert chosen._declared_elsewhere("choice.nobody") == ""
    assert JobHandlers()._declared_elsewhere(of(jobs, "choice.elsewhere").type) == ""


def test_the_last_function_that_a_test_gave_for_a_type_runs() -> None:
    """Those of other types stay."""
    handlers, called = FaultyHandlers(HandlerRegistry()), list[Any]()
    handlers.handle("a.a", lambda _ctx: called.append("a"))
    handlers.handle("b.b", lambda _ctx: called.append("b, first"))
    handlers.handle("b.b", lambda _ctx: called.append("b, last"))
    for job_type in handlers:
        handlers.find(job_type).function(None)
    assert called == ["a", "b, last"]
