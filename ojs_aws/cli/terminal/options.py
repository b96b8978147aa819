"""Declares options once for several commands, and reads what people write as their values."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final, get_type_hints

import typer
from typer.models import ArgumentInfo

if TYPE_CHECKING:
    from ojs_aws.domain.errors import JsonValue

JobId = Annotated[str, typer.Argument(help="Id of the job.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be changed.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
_PANEL: Final = "Server and output"
Url = Annotated[
    str,
    typer.Option(
        "--url",
        envvar="OJS_URL",
        help="The OJS server, with or without /ojs/v1.",
        rich_help_panel=_PANEL,
    ),
]
ApiKey = Annotated[
    str,
    typer.Option(
        "--api-key",
        envvar="OJS_API_KEY",
        help="Sent as a bearer token. Better in the environment than on the command line.",
        show_default=False,
        show_envvar=True,
        rich_help_panel=_PANEL,
    ),
]
AsJson = Annotated[
    bool,
    typer.Option("--json", help="Print JSON, for scripts.", rich_help_panel=_PANEL),
]
NO_OPTIONS: Final[Mapping[str, object]] = {}


def with_groups(
    function: Callable[..., Any], *, skip: int = 0, options: Mapping[str, object] = NO_OPTIONS
) -> Callable[..., Any]:
    """Return a function with the fields of its dataclass parameters as parameters of its own.

    So options that several commands have are declared once, as the fields of a dataclass, and typer
    shows each field as an option.

    :param skip: how many leading parameters to leave out, such as the session.
    :param options: other declarations of options, by the names of the fields.
    """
    hints = get_type_hints(function, include_extras=True)
    own = [*inspect.signature(function).parameters.values()][skip:]
    groups: dict[str, type] = {
        each.name: hints[each.name] for each in own if is_dataclass(hints[each.name])
    }
    parameters: list[inspect.Parameter] = []
    for each in own:
        if each.name in groups:
            annotations = get_type_hints(groups[each.name], include_extras=True)
            parameters += [
                option(part.name, _annotated(annotations, part.name, options), part.default)
                for part in fields(groups[each.name])
            ]
        else:
            parameters.append(option(each.name, hints[each.name], each.default))

    def run(*front: Any, **values: Any) -> Any:
        for name, kind in groups.items():
            values[name] = kind(**{part.name: values.pop(part.name) for part in fields(kind)})
        return function(*front, **values)

    declare(run, function, parameters)
    return run


def _annotated(annotations: Mapping[str, Any], name: str, options: Mapping[str, object]) -> object:
    return Annotated[annotations[name], options[name]] if name in options else annotations[name]


def declare(
    run: Callable[..., Any], function: Callable[..., Any], parameters: Sequence[inspect.Parameter]
) -> None:
    """Give a function the name and docstring of another one, and these parameters."""
    run.__name__, run.__doc__ = function.__name__, function.__doc__
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    vars(run)["__signature__"] = inspect.Signature(parameters)


def option(name: str, annotation: object, default: object) -> inspect.Parameter:
    """Return a parameter that is an option or an argument of a command."""
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def check_arguments(parameters: Iterable[inspect.Parameter], values: Mapping[str, Any]) -> None:
    """Refuse empty texts as arguments: an id of a path would be missing, and a list be meant.

    An argument that has a default may be empty.

    :raises typer.BadParameter: naming the argument.
    """
    for each in parameters:
        value, metadata = values.get(each.name), getattr(each.annotation, "__metadata__", ())
        is_needed = value == "" and each.default is inspect.Parameter.empty
        is_argument = any(isinstance(part, ArgumentInfo) for part in metadata)
        if is_argument and (is_needed or (isinstance(value, list) and "" in value)):
            raise typer.BadParameter(f"{each.name} is empty. Is a variable of the shell not set?")


def moment(text: str | None) -> datetime | None:
    """Read a time that a person wrote: RFC 3339, or how long ago (``2h``, ``PT30M``).

    :raises InvalidRequestError: the text is neither a time nor a duration.
    """
    if not text:
        return None
    from ojs_aws.domain.errors import InvalidRequestError
    from ojs_aws.domain.timestamps import (
        datetime_of,
        parse_duration,
        parse_timestamp,
    )

    with suppress(InvalidRequestError):
        return datetime_of(parse_timestamp(text, "time"))
    with suppress(InvalidRequestError):
        return datetime.now(UTC) - timedelta(milliseconds=parse_duration(text, "time"))
    hint = "Use RFC 3339, such as 2030-01-31T09:00:00Z, or how long ago, such as 20m."
    raise InvalidRequestError(f"{text!r} is no instant.", hint=hint)


def pair_of(text: str, expected: str) -> tuple[str, str]:
    """Return the name and the value of ``name=value``.

    :param expected: begins the message of the error.
    :raises typer.BadParameter: the text is something else.
    """
    name, mark, value = text.partition("=")
    if not mark or not name:
        raise typer.BadParameter(f"{expected} name=value, not {text!r}")
    return name, value


def arguments_of(text: str) -> list[JsonValue]:
    """Read a job's arguments: a JSON array of them, or one JSON value as the only argument."""
    given = json_of(text, "The arguments")
    return given if isinstance(given, list) else [given]


def json_of(text: str, what: str) -> JsonValue:
    """Read JSON that a person wrote.

    :param what: names it in the message of the error.
    :raises InvalidRequestError: the text is not valid JSON.
    """
    from ojs_aws.domain.errors import InvalidRequestError
    from ojs_aws.domain.json_text import decode

    try:
        return decode(text)
    except InvalidRequestError as problem:
        where = problem.message.rpartition("JSON: ")[2]
        raise InvalidRequestError(
            f"{what} must be JSON: {where}",
            hint='Quote it for the shell: \'["user@example.com", {"n": 1}]\', \'"a text"\'.',
        ) from None
