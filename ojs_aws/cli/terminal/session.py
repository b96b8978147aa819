"""Holds what all commands share that talk to a server: options, errors, and exit codes.

A command is a coroutine whose first parameter is the :class:`Session`; :func:`command` adds the
options ``--url``, ``--api-key`` and ``--json``, opens the client, and turns errors into a sentence
and an exit code.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar

import typer

from ojs_aws.cli.terminal.options import (
    ApiKey,
    AsJson,
    Url,
    check_arguments,
    declare,
    option,
    with_groups,
)
from ojs_aws.cli.terminal.output import Output

if TYPE_CHECKING:
    from ojs_aws.client import Client
    from ojs_aws.domain.errors import JsonValue, OjsError

DEFAULT_URL: Final = "http://127.0.0.1:8080"
MAX_PAGE: Final = 200
MAX_PAGES: Final = 1000
"""Of one list: a filter may match few of very many."""


class ExitCode(IntEnum):
    """Names the exit codes of a command."""

    DONE = 0
    FAILED = 1
    """The server failed, a job that was waited for, or some of several jobs."""
    USAGE = 2
    """The command or the request is wrong; nothing was changed."""
    NOT_FOUND = 3
    CONFLICT = 4
    """The state of the job does not permit this."""
    UNREACHABLE = 5
    """No server answered."""
    REFUSED = 6
    """The credentials are missing, wrong, or not enough."""
    CHECK_FAILED = 7
    """``doctor``, ``deploy-check`` or ``preflight`` found something wrong."""
    INTERRUPTED = 130


WHO: Final = (
    "Say which key by OJS_API_KEY or --api-key; `ojs-aws keys create NAME --scope SCOPE` makes one."
)
"""What helps a person whom a server refused."""

Connect = Callable[[str, str], "Client"]
"""Makes the client for a URL and an API key."""


@dataclass(frozen=True, slots=True)
class Session:
    """Holds a running command: its client, and its output.

    :ivar url: of the server, as given.
    :ivar connect: makes another client, of a URL and an API key.
    """

    client: Client
    out: Output
    url: str
    connect: Connect

    def confirm(self, question: str, *, is_sure: bool) -> None:
        """Ask before something that cannot be undone.

        :param is_sure: whether the user said so already, by ``--yes``.
        :raises typer.Exit: with USAGE where nobody can be asked; with DONE where the answer is no.
        """
        if is_sure:
            return
        if not self.out.can_ask:
            raise misuse(self.out, f"{question} Say --yes to do it without being asked.")
        if not typer.confirm(question, err=True):
            raise typer.Exit(ExitCode.DONE)


def misuse(out: Output, text: str, hint: str = "") -> typer.Exit:
    """Print what is wrong with a command, and return the exit to raise: nothing was changed."""
    out.problem(text, hint)
    return typer.Exit(ExitCode.USAGE)


def connect(url: str, api_key: str) -> Client:
    """Return the client of the command line: no middleware, and few retries."""
    from ojs_aws.client import Client, Resends

    # An empty key is none: the environment's was read with the options.
    return Client(url, api_key=api_key, middleware=[], resends=Resends(limit=2))


def command(
    app: typer.Typer, name: str, **more: Any
) -> Callable[[Callable[..., Coroutine[Any, Any, None]]], Callable[..., Coroutine[Any, Any, None]]]:
    """Register a coroutine as a command that talks to a server.

    :param more: further arguments of ``typer.Typer.command``.
    """

    def register(
        function: Callable[..., Coroutine[Any, Any, None]],
    ) -> Callable[..., Coroutine[Any, Any, None]]:
        run_with = with_groups(function, skip=1)

        def run(
            *, context: typer.Context, url: str, api_key: str, as_json: bool, **values: Any
        ) -> None:
            check_arguments(parameters, values)
            given = context.find_root().obj  # how to connect, where the caller says so
            open_client: Connect = given if callable(given) else connect
            out = Output(as_json=as_json)

            async def within() -> None:
                client = open_client(url, api_key)
                try:
                    await run_with(Session(client, out, url, open_client), **values)
                finally:
                    await client.close()

            _finish(within(), out)

        parameters = [
            option("context", typer.Context, inspect.Parameter.empty),
            *inspect.signature(run_with).parameters.values(),
            option("url", Url, DEFAULT_URL),
            option("api_key", ApiKey, ""),
            option("as_json", AsJson, False),
        ]
        declare(run, function, parameters)
        app.command(name, **more)(run)
        return function

    return register


class Page(Protocol):
    """Declares what a page of a list has."""

    @property
    def cursor(self) -> str:
        """Return where the next page starts; empty on the last one."""


P = TypeVar("P", bound=Page)
T = TypeVar("T")


async def pages(ask: Callable[[str], Awaitable[P]]) -> AsyncIterator[P]:
    """Yield page after page.

    :param ask: returns the page of a cursor.
    """
    page = await ask("")
    yield page
    while page.cursor:
        page = await ask(page.cursor)
        yield page


async def listed(
    limit: int, ask: Callable[[int, str], Awaitable[P]], items_of: Callable[[P], Iterable[T]]
) -> tuple[list[T], list[P]]:
    """Return the first items of a list, and the pages that were read for them.

    :param ask: returns the page of a cursor, with so many items at most.
    """
    found: list[T] = []
    read: list[P] = []

    def ask_next(cursor: str) -> Awaitable[P]:
        return ask(min(MAX_PAGE, limit - len(found)), cursor)

    async for page in pages(ask_next):
        found += items_of(page)
        read.append(page)
        if len(found) >= limit or len(read) == MAX_PAGES:
            break
    return found, read


Done: TypeAlias = "tuple[str, Mapping[str, JsonValue]]"
"""What to say about a thing that was changed: to people, and to scripts."""


async def each_named(
    out: Output, names: Sequence[str], change: Callable[[str], Awaitable[Done]]
) -> None:
    """Change each of the named things, and say so; those that cannot be changed stop no others.

    JSON about several things is one value a line.

    :raises typer.Exit: some could not be changed, with the code of the first of them.
    """
    from ojs_aws.domain.errors import ConflictError, NotFoundError

    code: ExitCode | None = None
    for name in names:
        try:
            text, data = await change(name)
        except (ConflictError, NotFoundError) as problem:
            if len(names) == 1:
                raise
            code = code or code_of(problem)
            out.problem(f"{name}: {problem.message}", problem.hint)
            continue
        if out.as_json and len(names) > 1:
            out.json_line(data)
        else:
            out.said(text, data)
    if code is not None:
        raise typer.Exit(code)


def _finish(call: Coroutine[Any, Any, None], out: Output) -> None:
    """Run a command to its end, and print what went wrong.

    :raises typer.Exit: with the code of what went wrong.
    """
    from ojs_aws.client.results import JobFailedError
    from ojs_aws.domain.errors import OjsError

    try:
        asyncio.run(call)
    except JobFailedError as problem:
        job = problem.job
        details: dict[str, object] = {"code": "job_failed", "job_id": job.id, "state": job.state}
        if problem.error:
            details["job_error"] = problem.error
        out.problem(str(problem), f"ojs-aws jobs show {job.id} shows each attempt.", **details)
        raise typer.Exit(ExitCode.FAILED) from None
    except OjsError as problem:
        code = code_of(problem)
        if code is ExitCode.REFUSED:
            problem.hint = WHO
        elif problem.hint == problem.usual_hint:
            problem.hint = ""  # it speaks of a request; a terminal shows none
        elif code is ExitCode.FAILED and (request_id := request_id_of(problem)):
            problem.message += f" Request id: {request_id}."
        out.error(problem)
        raise typer.Exit(code) from None
    except (ValueError, TimeoutError) as problem:
        out.problem(str(problem))
        is_timeout = isinstance(problem, TimeoutError)
        raise typer.Exit(ExitCode.FAILED if is_timeout else ExitCode.USAGE) from None
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.INTERRUPTED) from None


def code_of(problem: OjsError) -> ExitCode:
    """Return the exit code of an error."""
    from ojs_aws.domain import errors

    if isinstance(problem, errors.BackendUnavailableError):
        return ExitCode.UNREACHABLE
    if isinstance(problem, errors.NotFoundError):
        return ExitCode.NOT_FOUND
    if isinstance(problem, errors.ConflictError):
        return ExitCode.CONFLICT
    if any(f"HTTP {status}," in note for note in notes_of(problem) for status in (401, 403)):
        return ExitCode.REFUSED
    return ExitCode.USAGE if isinstance(problem, errors.InvalidRequestError) else ExitCode.FAILED


def request_id_of(problem: BaseException) -> str:
    """Return the request id of an error, for the server's log; empty if unknown."""
    found = [note.partition("request id ")[2] for note in notes_of(problem)]
    return next(filter(None, found), "")


def notes_of(problem: BaseException) -> list[str]:
    """Return the notes that were added to an error."""
    return list(getattr(problem, "__notes__", ()))
