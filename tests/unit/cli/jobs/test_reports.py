"""Failed attempts at a terminal: which, when, and where in the code.

What commands say of the rest of a list.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from rich.console import Console

from ojs_aws.cli.jobs.reports import failure_lines, more_text, total_members
from ojs_aws.cli.terminal.output import Output
from ojs_aws.domain.json_text import encode, parse_object
from ojs_aws.middleware.builtin.error_reports import backtrace_of
from ojs_aws.services.jobs.fetch.request import FetchRequest
from tests.simulation.world import World
from tests.unit.cli.conftest import Cli
from tests.unit.cli.made_jobs import enqueue

AT = "2026-02-12T10:30:00.000Z"


def lines_of(backtrace: list[str], **more: object) -> list[str]:
    """Return what is printed of a failed attempt."""
    error = {"type": "LookupError", "message": "no template", "attempt": 2, "occurred_at": AT}
    text = "\n".join(failure_lines({**error, "backtrace": backtrace, **more}))
    return text.split("\n")


def test_a_backtrace_is_printed_as_python_prints_it() -> None:
    """The latest call is last, and the error below it; the cause comes first."""
    header, *shown = lines_of(
        [
            "/app/shop.py:13 in render: raise LookupError('no template')",
            "/app/shop.py:7 in send_email: return render(template)",
            "caused by KeyError: 'nope'",
            "/app/shop.py:11 in render: return {}[template]",
            "(17 frames of the worker and of its middleware chain left out)",
        ]
    )
    assert header.startswith(f"Attempt 2 failed at {AT} (")
    assert "\n".join(shown) == (
        "  Traceback (most recent call last):\n"
        '    File "/app/shop.py", line 11, in render\n'
        "      return {}[template]\n"
        "  KeyError: 'nope'\n"
        "\n"
        "  The above exception was the direct cause of the following exception:\n"
        "\n"
        "  Traceback (most recent call last):\n"
        '    File "/app/shop.py", line 7, in send_email\n'
        "      return render(template)\n"
        '    File "/app/shop.py", line 13, in render\n'
        "      raise LookupError('no template')\n"
        "  LookupError: no template\n"
        "  (17 frames of the worker and of its middleware chain left out)"
    )


def test_what_a_worker_reports_is_read_back() -> None:
    """The form of a frame is that of the worker, whatever the name of the function."""
    divide: Callable[[], float] = lambda: 1 / 0  # noqa: E731 - its name is not one
    with pytest.raises(ZeroDivisionError) as caught:
        divide()
    shown = lines_of([*backtrace_of(caught.value)])
    assert f'    File "{__file__}", line ' in "\n".join(shown)
    assert any(line.endswith("in <lambda>") for line in shown)
    assert any(line.endswith("in test_what_a_worker_reports_is_read_back") for line in shown)


def test_members_of_a_group_follow_it() -> None:
    """Each with its own frames."""
    problem = ExceptionGroup("two", [ValueError("first"), ValueError("second")])
    text = "\n".join(lines_of([*backtrace_of(problem)]))
    assert text.index("LookupError") < text.index("with ValueError: first")
    assert text.index("with ValueError: first") < text.index("with ValueError: second")


def test_frames_of_another_language_keep_their_order() -> None:
    """They are lines of text that only their own runtime can sort."""
    frames = ["at render (/app/shop.js:13:9)", "at send (/app/shop.js:7:3)"]
    assert lines_of(frames)[1:] == [
        "  LookupError: no template",
        *(f"    {each}" for each in frames),
    ]


def test_a_long_traceback_is_cut_in_its_middle() -> None:
    """Where the call came from and where it failed say most."""
    frames = [f"/app/shop.py:{number} in call" for number in range(40)]
    shown = "\n".join(lines_of(frames))
    assert "... 20 frames are not shown; --json prints them all" in shown
    assert "line 39," in shown
    assert "line 0," in shown
    assert "line 20," not in shown


def test_code_and_details_follow_where_they_say_more() -> None:
    """What repeats the type or is the default says nothing."""
    shown = lines_of([], code="DISCARD", details={"card": 4})
    assert shown[2:] == ["  code: DISCARD", '  details: {"card": 4}']
    assert lines_of([], code="handler_error")[1:] == ["  LookupError: no template"]


@pytest.mark.parametrize("shown", [("jobs", "show"), ("dead-letter", "show"), ("get",)])
def test_each_view_of_a_job_prints_its_failed_attempts(
    cli: Cli, world: World, shown: tuple[str, ...]
) -> None:
    """All of them in order, and no line of JSON; ``--json`` has the objects."""
    job_id = enqueue(cli, "--max-attempts", "2", "--dead-letter")
    world.registry.ensure("default", world.clock.now())
    for number in (1, 2):
        world.backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
        frames = [f"/app/shop.py:{number} in send: connect()"]
        error = {"type": "SmtpError", "message": f"refused {number}", "backtrace": frames}
        world.backend.jobs.fail(job_id, "w", parse_object(json.dumps(error)))
        world.clock.advance(s=600)
    text = cli.run(*shown, job_id).out
    assert text.count("SmtpError: refused 2") >= 1
    assert 'File "/app/shop.py", line 2, in send\n      connect()\n  SmtpError' in text
    assert '"backtrace"' not in text
    if shown != ("get",):
        assert text.index("Attempt 1 failed at") < text.index("Attempt 2 failed at")
    assert cli.ask(*shown, job_id)["error"]["message"] == "refused 2"


def test_long_lines_go_on_indented_at_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal would continue them at its left edge, in the middle of a name."""
    screen = io.StringIO()
    monkeypatch.setattr(Output, "console", lambda _: Console(file=screen, width=80))
    message = "There is no template for the recipient, and the folder of templates is not set up."
    Output(as_json=False).text("\n".join(lines_of(["/app/s.py:1 in f: x = 1"], message=message)))
    lines = screen.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[-2].startswith("  LookupError: There is no template")
    assert lines[-1] == "    templates is not set up."


def test_control_characters_of_messages_do_not_reach_the_terminal(cli: Cli, world: World) -> None:
    """A message could clear the screen, or write what looks like another answer."""
    job_id = enqueue(cli, "--max-attempts", "1", "-m", "note=\x1b[2Jx")
    world.registry.ensure("default", world.clock.now())
    world.backend.jobs.fetch(FetchRequest(("default",), worker_id="w"))
    world.backend.jobs.fail(job_id, "w", parse_object(encode({"message": "\x1b[2Jgone"})))
    for view in (("jobs", "show", job_id), ("jobs", "list")):
        assert "\x1b" not in cli.run(*view).out


@dataclass
class Page:
    """A page as the client returns it."""

    total: int
    total_is: str = "exact"
    cursor: str = "c"


@pytest.mark.parametrize(
    ("page", "rest"),
    [
        (Page(45), "2 jobs of 45; show more with --limit."),
        (Page(45, "estimate"), "2 jobs of about 45; show more with --limit."),
        (Page(3, "at_least"), "2 jobs of at least 3; show more with --limit."),
        (Page(2, "at_least"), "2 jobs, and there may be more; show more with --limit."),
        (Page(0, "estimate"), "2 jobs, and there may be more; show more with --limit."),
        (Page(2, cursor=""), ""),
        (Page(9, "at_least", cursor=""), ""),
    ],
)
def test_the_rest_of_a_list_is_as_sure_as_its_total(page: Page, rest: str) -> None:
    """Nothing is said where nothing is left."""
    assert more_text("job", 2, [page]) == rest


@pytest.mark.parametrize(
    ("pages", "total"),
    [
        ([Page(45)], (45, "exact")),
        ([Page(45, "estimate"), Page(45, "estimate")], (45, "estimate")),
        ([Page(3, "at_least"), Page(3, "at_least")], (5, "at_least")),
        ([Page(3, "estimate"), Page(3, "estimate")], (5, "estimate")),
        ([Page(3, "exact"), Page(3, "exact")], (5, "at_least")),
        ([Page(3, "at_least"), Page(2, "at_least", cursor="")], (5, "exact")),
    ],
)
def test_the_total_for_scripts_counts_the_pages_that_were_read(
    pages: list[Page], total: tuple[int, str]
) -> None:
    """Who read the last page knows it; a total below what was read is out of date."""
    number, kind = total
    is_exact = kind == "exact"
    members = {"total": number, "total_is": kind, "total_is_exact": is_exact}
    assert total_members(5, pages) == members
