"""Runs a command again whenever Python code of the application changes.

The command runs in a session of its own, and this process passes signals on to it. So Ctrl-C at the
terminal reaches the command once, not twice. After a change the command gets SIGTERM, which lets
running jobs finish.

Hidden folders, virtual environments, installed packages, caches, build folders, and whatever a
``.gitignore`` names are not watched, unless the user names such a folder as one to watch.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Final

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

Times = Mapping[str, int]
_SKIPPED: Final = frozenset({"__pycache__", "node_modules", "site-packages", "cdk.out"})
_SKIPPED_UNLESS_PACKAGE: Final = frozenset({"build", "dist", "env", "venv", "htmlcov", "target"})
_MARKERS: Final = frozenset({"pyvenv.cfg", "CACHEDIR.TAG"})
"""Files that mark a virtual environment and a cache."""
IGNORE_FILE: Final = ".gitignore"
_CHECKOUT: Final = Path(__file__).resolve().parents[2]
_OURS: Final = (
    *("benchmarks", "docs", "examples", "functions", "infra", "ojs_aws", "scripts", "tests"),
)
"""Folders of this project, which are not watched if somebody tries an application in a checkout."""
INTERVAL_S: Final = 0.5
"""Seconds between two looks at the files."""
NAMED: Final = 5
"""How many folders that are not watched are named at the start."""


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    """Holds one ``.gitignore``.

    :ivar folder: where it lies; its patterns are about what is below.
    """

    folder: Path
    patterns: GitIgnoreSpec

    def decides(self, path: str, *, is_folder: bool) -> bool | None:
        """Return whether it ignores a path (True) or keeps it (False); None if it names neither."""
        below = Path(path).relative_to(self.folder).as_posix()
        return self.patterns.check_file(f"{below}/" if is_folder else below).include


@dataclass
class FileSearch:
    """Looks through folders for Python files.

    :ivar foreign: folders below those that are not searched, by their absolute paths.
    :ivar left_out: the folders that were not searched.
    """

    foreign: frozenset[str] = frozenset()
    left_out: list[str] = field(default_factory=list)

    def times(self, roots: Sequence[Path]) -> dict[str, int]:
        """Return when each Python file below the folders was changed last, in nanoseconds."""
        found: dict[str, int] = {}
        for root in roots:
            folder = root.absolute()
            found |= self._times(str(folder), _rules_above(folder))
        return found

    def _times(self, folder: str, rules: Sequence[IgnoreFile]) -> Iterator[tuple[str, int]]:
        try:
            entries = list(os.scandir(folder))
        except OSError:  # gone, or not ours to read
            return
        if any(entry.name == IGNORE_FILE for entry in entries):
            rules = [*rules, *_rules_in(folder)]
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    if self._skips(entry, rules):
                        self.left_out.append(entry.path)
                    else:
                        yield from self._times(entry.path, rules)
                elif entry.name.endswith(".py") and not _is_ignored(entry.path, rules):
                    yield entry.path, entry.stat().st_mtime_ns
            except OSError:  # it has just been removed
                continue

    def _skips(self, entry: os.DirEntry[str], rules: Sequence[IgnoreFile]) -> bool:
        """Return whether a folder is not searched."""
        if entry.path in self.foreign or _is_foreign(entry):
            return True
        return _is_ignored(entry.path, rules, is_folder=True)


def folders_of_ours(module: str) -> frozenset[str]:
    """Return the folders of this project's checkout, but for the one that a module lies in."""
    own = module.partition(".")[0]
    return frozenset(str(_CHECKOUT / name) for name in _OURS if name != own)


def times_of(*roots: Path, foreign: frozenset[str] = frozenset()) -> dict[str, int]:
    """Return when each Python file below the folders was changed last, in nanoseconds.

    :param foreign: folders that are not searched.
    """
    return FileSearch(foreign).times(roots)


def changed_between(before: Times, after: Times) -> str:
    """Return a file that is new, gone or different; empty if there is none."""
    return next((path for path in {**before, **after} if before.get(path) != after.get(path)), "")


def _is_foreign(entry: os.DirEntry[str]) -> bool:
    """Return whether a folder is none of the application's, by its name or by a marker in it."""
    if entry.name.startswith(".") or entry.name in _SKIPPED:
        return True
    if entry.name.endswith((".egg-info", ".dist-info")):
        return True
    inside = Path(entry.path)
    if entry.name in _SKIPPED_UNLESS_PACKAGE and not (inside / "__init__.py").exists():
        return True
    return any((inside / marker).exists() for marker in _MARKERS)


def _is_ignored(path: str, rules: Sequence[IgnoreFile], *, is_folder: bool = False) -> bool:
    """Return whether the deepest file that names a path ignores it, as in git."""
    decided = (rule.decides(path, is_folder=is_folder) for rule in reversed(rules))
    return next((each for each in decided if each is not None), False)


def _rules_above(root: Path) -> list[IgnoreFile]:
    """Return the rules of the folders above one, up to the root of its repository."""
    above: list[Path] = []
    for folder in (root, *root.parents):
        if folder != root:
            above.append(folder)
        if (folder / ".git").exists():
            return [rule for each in reversed(above) for rule in _rules_in(str(each))]
    return []


def _rules_in(folder: str) -> list[IgnoreFile]:
    """Return the rules of a folder's own ``.gitignore``."""
    try:
        lines = Path(folder, IGNORE_FILE).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []
    return [IgnoreFile(Path(folder), GitIgnoreSpec(_patterns(lines)))]


def _patterns(lines: Iterable[str]) -> Iterator[GitIgnoreSpecPattern]:
    """Yield what the lines say; git passes over a line that is no pattern, such as ``[z-a]``."""
    for line in lines:
        with suppress(ValueError, re.error):
            yield from GitIgnoreSpec.from_lines([line]).patterns


@dataclass
class Reloader:
    """Keeps one child process that runs the newest code.

    :ivar roots: the folders that are watched.
    :ivar command: what the child runs.
    :ivar foreign: folders below them that are not watched.
    """

    roots: Sequence[Path]
    command: Sequence[str]
    foreign: frozenset[str] = frozenset()
    interval_s: float = INTERVAL_S
    _stopped: threading.Event = field(default_factory=threading.Event)
    _child: subprocess.Popen[bytes] | None = None

    def run(self) -> int:
        """Run until a signal ends it; return the exit code of the last child."""
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # the last one: the terminal was closed
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), self._pass_on)
        code = 0
        search = FileSearch(self.foreign)
        _say(watched_text(self.roots, len(search.times(self.roots)), search.left_out))
        while not self._stopped.is_set():
            seen = times_of(*self.roots, foreign=self.foreign)
            self._child = subprocess.Popen(self.command, start_new_session=True)
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
            if path := changed_between(seen, times_of(*self.roots, foreign=self.foreign)):
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
