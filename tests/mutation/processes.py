"""Runs pieces of work in forked processes, a few at a time, each for a limited time."""

from __future__ import annotations

import json
import os
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

POLL_S: Final = 0.02


@dataclass(frozen=True, slots=True)
class Task:
    """One piece of work.

    :ivar run: what the process does; its answer comes back as JSON.
    """

    name: str
    run: Callable[[], Any]
    limit_s: float


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a task.

    :ivar value: what it answered.
    :ivar problem: why it did not answer; empty when it did.
    """

    name: str
    value: Any
    problem: str = ""
    is_late: bool = False


@dataclass(frozen=True, slots=True)
class _Child:
    task: Task
    pid: int
    answer: Path
    until: float


def run_all(tasks: Iterable[Task], workers: int) -> Iterator[Answer]:
    """Run tasks in processes of their own; yield the answers as they come."""
    waiting, running = iter(tasks), list[_Child]()
    following = next(waiting, None)
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        number = 0
        try:
            while following is not None or running:
                while following is not None and len(running) < workers:
                    number += 1
                    running.append(_start(following, Path(folder) / str(number)))
                    following = next(waiting, None)
                time.sleep(POLL_S)
                for child in [*running]:
                    if (answer := _ended(child)) is not None:
                        running.remove(child)
                        yield answer
        finally:
            for child in running:
                _stop(child)


def _start(task: Task, answer: Path) -> _Child:
    pid = os.fork()
    if pid == 0:
        _work(task, answer)
    return _Child(task, pid, answer, time.monotonic() + task.limit_s)


def _work(task: Task, answer: Path) -> None:
    """Do the work in the new process, and end it whatever happens."""
    try:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nowhere, descriptor)
        given = {"value": task.run()}
    except BaseException:  # noqa: BLE001 - the parent says what it was
        given = {"problem": traceback.format_exc()}
    try:
        answer.with_suffix(".part").write_text(json.dumps(given))
        answer.with_suffix(".part").rename(answer)
    finally:
        os._exit(0)


def _ended(child: _Child) -> Answer | None:
    pid, _ = os.waitpid(child.pid, os.WNOHANG)
    if pid == 0:
        if time.monotonic() < child.until:
            return None
        _stop(child)
        problem = f"stopped after {child.task.limit_s:.0f} s"
        return Answer(child.task.name, None, problem, is_late=True)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)  # what it has started
    if not child.answer.exists():
        return Answer(child.task.name, None, "the process died")
    given = json.loads(child.answer.read_text())
    return Answer(child.task.name, given.get("value"), given.get("problem", ""))


def _stop(child: _Child) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(child.pid, 0)
