"""Reads what a process writes while a test goes on: a full pipe would stop the process."""

from __future__ import annotations

import subprocess
import threading
import time
from dataclasses import dataclass, field

from tests.load import HUNG_S


@dataclass(slots=True)
class Output:
    """Collects the lines of a process's standard output, from its start to its end."""

    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)
    _came: threading.Condition = field(default_factory=threading.Condition)
    _reader: threading.Thread = field(init=False)
    _is_over: bool = False

    def __post_init__(self) -> None:
        """Begin to read."""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as written:
            for line in written:
                with self._came:
                    self.lines.append(line)
                    self._came.notify_all()
        with self._came:
            self._is_over = True
            self._came.notify_all()

    def wait_for(self, text: str) -> str:
        """Return all lines, as soon as one contains a text."""
        deadline = time.monotonic() + HUNG_S
        with self._came:
            while not any(text in line for line in self.lines):
                assert not self._is_over, f"it ended without {text!r}:\n{''.join(self.lines)}"
                assert self._came.wait(deadline - time.monotonic()), f"no {text!r} came"
            return "".join(self.lines)

    def end(self) -> str:
        """Wait until the process has ended; return all that it wrote."""
        self.process.wait(HUNG_S)
        self._reader.join(HUNG_S)
        return "".join(self.lines)
