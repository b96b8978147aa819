"""Runs a command again whenever Python code changes, for ``ojs-aws run --reload``.

The command runs in a session of its own, so that a signal reaches it once: this process passes on
what it gets. A change sends SIGTERM, which lets running jobs finish.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Final

from ojs_aws.cli.watched_files import FileSearch, Times, changed_between, times_of

INTERVAL_S: Final = 0.5
"""Between two looks at the files."""

NAMED: Final = 5
"""Folders that are left out and named."""


@dataclass
class Reloader:
    """Keeps one child process that runs the newest code.

    :ivar roots: the folders that are watched.
    :ivar command: what the child runs.
    """

    roots: Sequence[Path]
    command: Sequence[str]
    interval_s: float = INTERVAL_S
    _stopped: threading.Event = field(default_factory=threading.Event)
    _child: subprocess.Popen[bytes] | None = None

    def run(self) -> int:
        """Run until a signal ends it; return the exit code of the last child."""
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # the last one: the terminal was closed
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), self._pass_on)
        code = 0
        search = FileSearch()
        _say(watched_text(self.roots, len(search.times(self.roots)), search.left_out))
        while not self._stopped.is_set():
            seen = times_of(*self.roots)
            self._child = subprocess.Popen(self.command, start_new_session=True)  # noqa: S603
            if self._stopped.is_set():  # the signal came before there was a child to pass it to
                self._child.terminate()
            changed = self._wait_for_change(seen)
            code = self._child.wait()
            if self._stopped.is_set() or (code == 0 and not changed):
                break  # a signal or the server ended it
            if not changed:
                _say("The worker ended. It starts again when a file changes.")
                changed = self._wait_for_change(seen, only_files=True)
        return code

    def _wait_for_change(self, seen: Times, *, only_files: bool = False) -> str:
        """Return the file that changed, after SIGTERM to the child; empty if there was none.

        :param only_files: the child has ended already.
        """
        child = self._child
        while not self._stopped.wait(self.interval_s):
            if not only_files and child is not None and child.poll() is not None:
                return ""
            if path := changed_between(seen, times_of(*self.roots)):
                _say(f"{_short(path)} changed: starting again.")
                if child is not None and child.poll() is None:
                    child.terminate()
                return path
        return ""

    def _pass_on(self, number: int, _: FrameType | None) -> None:
        """Pass a signal on to the child, and end with it."""
        self._stopped.set()
        if self._child is not None and self._child.poll() is None:
            known = number in {signal.SIGINT, signal.SIGTERM}
            self._child.send_signal(number if known else signal.SIGTERM)


def watched_text(folders: Sequence[Path], files: int, left_out: Sequence[str]) -> str:
    """Return the line that says what is watched, and what is not."""
    named = ", ".join(_short(each) for each in folders)
    text = f"Watching {files} Python file{'' if files == 1 else 's'} below {named}"
    names = sorted({_short(each) for each in left_out if Path(each).name != "__pycache__"})
    if names:
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        text += f", but not {', '.join(names[:NAMED])}{more}"
    return f"{text}. Choose folders with --reload-dir."


def _short(path: Path | str) -> str:
    """Return a path as seen from this folder, where it is below it."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _say(text: str) -> None:
    print(f"ojs-aws run: {text}", file=sys.stderr, flush=True)
