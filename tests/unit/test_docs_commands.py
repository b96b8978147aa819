"""Every claim has a command: the commands that the documentation names are there."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
from pathlib import Path
from typing import Final

import ojs_aws
from benchmarks.__main__ import ALL
from ojs_aws import client, worker
from tests.commands import command_tree

ROOT: Final = Path(__file__).resolve().parents[2]
PAGES: Final = (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/README.md"))
MODULE: Final = re.compile(r"python -m ((?:benchmarks|tests|infra|scripts|ojs_aws)[\w.]*)")
TARGET: Final = re.compile(r"`(?:[A-Z]+=\S+ )*make ([a-z][\w-]*)")


def _named(pattern: re.Pattern[str]) -> dict[str, set[str]]:
    """What pages name, and where."""
    found: dict[str, set[str]] = {}
    for page in PAGES:
        for name in pattern.findall(page.read_text("utf-8")):
            found.setdefault(name.rstrip("."), set()).add(page.name)
    return found


def test_modules_that_pages_run_are_there() -> None:
    """``python -m benchmarks.costs`` and the like."""
    named = _named(MODULE)
    assert "benchmarks.costs" in named
    assert not {name: pages for name, pages in named.items() if not _is_there(name)}


def _is_there(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()


def test_targets_that_pages_make_are_there() -> None:
    """``make bench`` and the like."""
    targets = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = _named(TARGET)
    assert "bench" in named
    assert not {name: pages for name, pages in named.items() if name not in targets}


def test_every_benchmark_has_its_row() -> None:
    """``make bench`` runs what the table of claims names, and nothing else."""
    page = (ROOT / "benchmarks" / "README.md").read_text()
    rows = set(MODULE.findall(page.partition("## Results")[0]))
    modules = {f"benchmarks.{each.name}" for each in ALL}
    assert modules <= rows
    assert all(importlib.util.find_spec(name) for name in modules)


def test_each_curl_that_sends_a_body_names_its_type() -> None:
    """The API refuses the type that curl sends else."""
    sends = [
        each
        for page in PAGES
        for block in re.findall(r"```sh\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
        for each in re.split(r"^(?=.*\bcurl )", block, flags=re.MULTILINE)
        if re.search(r"\bcurl .*\s(-d|--data)\b", each, re.DOTALL)
    ]
    assert sends
    assert not [each for each in sends if "Content-Type: " not in each]


def _spans(text: str) -> list[str]:
    """Return the code of a page: its blocks for a shell, and what stands between backticks."""
    blocks = re.findall(r"```(?:sh|text|console)?\n(.*?)```", text, re.DOTALL)
    return [each.replace("\\\n", " ") for each in (*blocks, *re.findall(r"`([^`\n]+)`", text))]


def _mistake(words: list[str]) -> str:
    """Return what is wrong with the words of a command line; empty for nothing."""
    command = command_tree()
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        if words[0] not in command.commands:
            return words[0]
        command = command.commands[words.pop(0)]
    known = {each for one in command.params for each in (*one.opts, *one.secondary_opts)}
    given = [found[1] for word in words if (found := re.match(r"(--[a-z][\w-]*|-[a-z])\b", word))]
    return next((each for each in given if each not in known | {"--help", "-h"}), "")


def test_commands_and_options_that_pages_show_are_there() -> None:
    """``ojs-aws jobs list --group-by error`` and the like; not in the list of changes."""
    line = re.compile(r"(?<![\w/.'-])(?:\.venv/bin/)?ojs-aws((?: [^`\n|#;&()]+)?)")
    seen, wrong = 0, []
    for page in PAGES:
        for span in _spans(page.read_text("utf-8") if page.name != "CHANGELOG.md" else ""):
            for rest in line.findall(span):
                seen += 1
                if mistake := _mistake(rest.replace("'", " ").split()):
                    wrong.append(f"{page.name}: {mistake} in ojs-aws{rest}")
    assert seen > 300
    assert not wrong


def test_keywords_that_pages_give_are_there() -> None:
    """``Client(url, credentials=SigV4())`` and the like, in blocks of Python."""
    names = {
        each: getattr(home, each) for home in (worker, client, ojs_aws) for each in home.__all__
    }
    seen, wrong = 0, []
    for page in PAGES:
        for code in re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
            calls = [each for each in ast.walk(ast.parse(code)) if isinstance(each, ast.Call)]
            for call in calls:
                called = names.get(call.func.id) if isinstance(call.func, ast.Name) else None
                if not isinstance(called, type):
                    continue
                known = inspect.signature(called).parameters
                is_open = any(each.kind is each.VAR_KEYWORD for each in known.values())
                given = [] if is_open else [each.arg for each in call.keywords if each.arg]
                seen += len(given)
                wrong += [f"{page.name}: {each}" for each in given if each not in known]
    assert seen > 10
    assert not wrong
