"""Declares options once for several commands, and reads what people write for them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final, get_type_hints

import typer

if TYPE_CHECKING:
    from ojs_aws.domain.errors import JsonValue

JobId = Annotated[str, typer.Argument(help="Id of the job.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be changed.")]
NO_OPTIONS: Final[Mapping[str, object]] = {}
_SHARES: Final = ("p50", "p95", "p99")
_SECOND_MS: Final = 1000
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def with_groups(
    function: Callable[..., Any], *, skip: int = 0, options: Mapping[str, object] = NO_OPTIONS
) -> Callable[..., Any]:
    """Return a function that takes the fields of each dataclass among its parameters one by one.

    So options that several commands have are declared once, as the fields of a dataclass.

    :param skip: parameters at the front that are no options, and not part of the signature.
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


def moment(text: str | None) -> datetime | None:
    """Return an instant that a person wrote: RFC 3339, or how long ago (``2h``, ``PT30M``).

    :raises InvalidRequestError: neither.
    """
    if not text:
        return None
    from ojs_aws.domain.errors import InvalidRequestError
    from ojs_aws.domain.timestamps import (
        datetime_of,
        parse_duration,
        parse_timestamp,
    )

    try:
        return datetime_of(parse_timestamp(text, "time"))
    except InvalidRequestError:
        ago = timedelta(milliseconds=parse_duration(text, "time"))
        return datetime.now(UTC) - ago


def pair_of(text: str, expected: str) -> tuple[str, str]:
    """Return the name and the value of ``name=value``; errors begin as ``expected`` does.

    :raises typer.BadParameter: something else.
    """
    name, mark, value = text.partition("=")
    if not mark or not name:
        raise typer.BadParameter(f"{expected} name=value, not {text!r}")
    return name, value


def arguments_of(text: str) -> list[JsonValue]:
    """Return the arguments of a job that a person wrote: a JSON array, or the only one."""
    given = json_of(text, "The arguments")
    return given if isinstance(given, list) else [given]


def json_of(text: str, what: str) -> JsonValue:
    """Return JSON that a person wrote.

    :raises InvalidRequestError: it is none.
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


def hide_types_of_flags() -> None:
    """Let help texts show no type behind a flag, which takes no value."""
    from typer.core import TyperOption

    shown = TyperOption.display_type_rich

    def display(self: TyperOption, ctx: Any) -> str | None:
        return None if self.is_flag else shown(self, ctx)

    TyperOption.display_type_rich = display  # type: ignore[method-assign]


def flow_help(app: typer.Typer) -> None:
    """Let the help texts of all commands break where the terminal does, not where our code does."""
    for info in app.registered_commands:
        paragraphs = inspect.cleandoc(info.help or getattr(info.callback, "__doc__", "") or "")
        info.help = "\n\n".join(" ".join(each.split("\n")) for each in paragraphs.split("\n\n"))
    for group in app.registered_groups:
        if group.typer_instance is not None:
            flow_help(group.typer_instance)


def duration_text(ms: object) -> str:
    """Return a length of time in milliseconds for people, such as ``430 ms`` or ``2.4 s``."""
    from ojs_aws.domain.timestamps import span_text

    if not isinstance(ms, int | float):
        return ""
    if ms < _SECOND_MS:
        return f"{round(ms)} ms"
    return f"{ms / _SECOND_MS:.1f} s" if ms < 60 * _SECOND_MS else span_text(round(ms))


def spread_text(percentiles: object) -> str:
    """Return percentiles of times as ``40 ms, 1.2 s, 3.0 s``; empty if nothing was measured."""
    found = percentiles if isinstance(percentiles, dict) else {}
    return ", ".join(filter(None, (duration_text(found.get(each)) for each in _SHARES)))


def rates_of(throughput: object) -> tuple[float, float]:
    """Return how many jobs completed, and how many attempts failed, in a minute.

    The API counts jobs that failed for good among the processed ones, and other failures apart.
    """
    found = throughput if isinstance(throughput, dict) else {}
    ended, failed, retried = (
        value if isinstance(value := found.get(f"{name}_per_minute"), int | float) else 0.0
        for name in ("processed", "failed", "retried")
    )
    return round(ended - failed, 2), round(failed + retried, 2)


def counted(number: int, thing: str) -> str:
    """Return a number of things, such as ``1 job`` and ``2 jobs``."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def when_text(text: object) -> str:
    """Return when an instant of an answer is, such as ``5 min ago`` or ``in 3 h``."""
    if not isinstance(text, str):
        return ""
    is_past = datetime.fromisoformat(text) <= datetime.now(UTC)
    return f"{age_text(text)} ago" if is_past else f"in {age_text(text)}"


def with_ages(members: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield the members of an answer; instants also say how far they are from now."""
    for name, value in members.items():
        shown = value
        if name.endswith(("_at", "_until")):
            with suppress(ValueError, TypeError):  # what clients add to a job may be anything
                shown = f"{value} ({when})" if (when := when_text(value)) else value
        yield name, shown


def age_text(text: object, now: datetime | None = None) -> str:
    """Return how far an instant of an answer is from now, such as ``5 min``; empty for none."""
    from ojs_aws.domain.timestamps import span_text

    if not isinstance(text, str):
        return ""
    apart = (now or datetime.now(UTC)) - datetime.fromisoformat(text)
    return span_text(abs(round(apart.total_seconds() * 1000)))
