"""Lets a worker process speak to people: a banner, a line for each job, and tracebacks.

Where the application sets up logging itself, that wins. Else ``ojs-aws run`` shows what the
application logs, too; ``Worker.run()`` sets up the loggers of this package only.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from difflib import get_close_matches
from typing import Final, Protocol
from urllib.parse import urlsplit

from ojs_aws._version import __version__
from ojs_aws.middleware.builtin import error_reports
from ojs_aws.middleware.builtin import logging as logging_middleware
from ojs_aws.middleware.chain.execution import ExecutionChain
from ojs_aws.typed_jobs.jobs import Jobs
from ojs_aws.worker.job_logs import JobLines, JsonFormatter, LineFormatter, OfJob
from ojs_aws.worker.registry import HandlerRegistry

OURS: Final = "ojs_aws"
_CHATTY: Final = ("httpx", "httpcore")
"""Loggers of the HTTP client, which writes a line for each request."""

_REPEATED: Final = frozenset(
    {
        (logging_middleware.__file__, "execute"),
        (logging_middleware.__file__, "_log_failure"),
        (error_reports.__file__, "log_report"),
    }
)
"""Where records are written whose content the line of a job has already."""

_SHOWN_JOBS: Final = 20
_SHOWN_LEFT: Final = 5

_logger = logging.getLogger(__name__)


class Speaker(Protocol):
    """Declares what is shown of a worker."""

    worker_id: str
    concurrency: int
    registry: HandlerRegistry
    job_lines: JobLines | None

    @property
    def jobs(self) -> Jobs:
        """Return the typed jobs that it runs."""

    @property
    def queues(self) -> tuple[str, ...]:
        """Return the queues that it serves."""

    @property
    def server(self) -> str:
        """Return where its jobs come from."""

    @property
    def middleware(self) -> ExecutionChain:
        """Return the chain around its handlers."""


class Unrepeated(logging.Filter):
    """Drops what middleware logs of an execution: the worker's own line says it."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the record says something else."""
        return (record.pathname, record.funcName) not in _REPEATED


def is_configured() -> bool:
    """Return whether the application has set up logging for this package, or for everything."""
    return bool(logging.getLogger().handlers or logging.getLogger(OURS).handlers)


@contextmanager
def speaking(
    worker: Speaker,
    *,
    level: int = logging.INFO,
    has_application: bool = False,
    is_json: bool = False,
) -> Iterator[None]:
    """Let a worker speak: through the application's own logging if there is some, else to stderr.

    :param level: the least level that is shown, where the application says nothing else.
    :param has_application: whether what the application logs is shown as well.
    :param is_json: whether records are shown as JSON.
    """
    ours, unrepeated = logging.getLogger(OURS), Unrepeated()
    earlier = ours.level
    shown = logging.getLogger() if has_application else ours
    level_of_shown = shown.level
    own = () if is_configured() else (_handler(is_json=is_json),)
    for each in own:
        shown.addHandler(each)
        shown.setLevel(level)
    if earlier == logging.NOTSET:
        ours.setLevel(level)
    repeaters = [logging.getLogger(name) for name in ("ojs_aws.job", "ojs_aws.errors")]
    for logger in repeaters:
        logger.addFilter(unrepeated)
    worker.job_lines = JobLines()
    try:
        yield
    finally:
        worker.job_lines = None
        for logger in repeaters:
            logger.removeFilter(unrepeated)
        for each in own:
            shown.removeHandler(each)
            shown.setLevel(level_of_shown)
        ours.setLevel(earlier)


def _handler(*, is_json: bool) -> logging.Handler:
    """Return what writes records to stderr, each with the job in which it was logged."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if is_json else LineFormatter())
    handler.addFilter(OfJob())
    return handler


@contextmanager
def for_process(worker: Speaker) -> Iterator[None]:
    """Let a worker speak that runs as a process, unless the application configured logging."""
    quiet_http()
    with nullcontext() if is_configured() else speaking(worker):
        yield


def quiet_http() -> None:
    """Keep the HTTP client from logging each request, unless the application wants it."""
    for name in _CHATTY:
        if logging.getLogger(name).level == logging.NOTSET:
            logging.getLogger(name).setLevel(logging.WARNING)


def announce(worker: Speaker) -> None:
    """Log that a worker starts: a banner for people, else a line."""
    if worker.job_lines is None:
        _logger.info("Worker %s serves %s", worker.worker_id, ", ".join(worker.queues))
    else:
        _logger.info("%s", banner(worker))
    if warning := unserved(worker):
        _logger.warning("%s", warning)


def unserved(worker: Speaker) -> str:
    """Return a warning if a queue has none of the worker's jobs, as if it were misspelt; or empty.

    A process may leave jobs to others, and handlers without types do not say their queues.
    """
    queues = {each.type: each.queue for each in worker.jobs if not each.is_remote}
    empty = sorted(set(worker.queues) - set(queues.values()))
    left = [f"{name!r} (queue {at})" for name, at in queues.items() if at not in worker.queues]
    if not empty or not left or set(worker.registry) - queues.keys():
        return ""
    more = f" and {len(left) - _SHOWN_LEFT} more" if len(left) > _SHOWN_LEFT else ""
    meant = {near for name in empty for near in get_close_matches(name, sorted(queues.values()), 1)}
    guess = f" Did you mean {' and '.join(map(repr, sorted(meant)))}?" if meant else ""
    return (
        f"No job is declared for the queue {', '.join(map(repr, empty))}.{guess} "
        f"No queue of this worker has {', '.join(left[:_SHOWN_LEFT])}{more}."
    )


def banner(worker: Speaker) -> str:
    """Return what a worker says when it starts."""
    jobs = list(worker.registry)
    more = len(jobs) - _SHOWN_JOBS
    shown = ", ".join(jobs[:_SHOWN_JOBS]) + (f" and {more} more" if more > 0 else "")
    rows = {
        "server": server_of(worker.server),
        "queues": ", ".join(worker.queues),
        "jobs": shown,
        "concurrency": str(worker.concurrency),
        "middleware": ", ".join(each.name for each in worker.middleware.described()) or "none",
    }
    lines = [f"  {name:<12} {text}" for name, text in rows.items()]
    return "\n".join([f"ojs-aws {__version__} serves as {worker.worker_id}", *lines])


def server_of(url: str) -> str:
    """Return a URL without a password."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
