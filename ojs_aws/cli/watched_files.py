"""Finds the Python files of an application, and leaves out what others wrote or a tool made.

Left out are hidden folders, virtual environments, installed packages, caches, build folders, and
what a ``.gitignore`` names. A folder that is named is searched, whatever it is called.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

Times = Mapping[str, int]

_SKIPPED: Final = frozenset({"__pycache__", "node_modules", "site-packages", "cdk.out"})
_SKIPPED_UNLESS_PACKAGE: Final = frozenset({"build", "dist", "env", "venv", "htmlcov", "target"})
_MARKERS: Final = frozenset({"pyvenv.cfg", "CACHEDIR.TAG"})
"""Files that mark a virtual environment and a cache."""

IGNORE_FILE: Final = ".gitignore"


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

    :ivar left_out: the folders that were not searched.
    """

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
                    if _is_foreign(entry) or _is_ignored(entry.path, rules, is_folder=True):
                        self.left_out.append(entry.path)
                    else:
                        yield from self._times(entry.path, rules)
                elif entry.name.endswith(".py") and not _is_ignored(entry.path, rules):
                    yield entry.path, entry.stat().st_mtime_ns
            except OSError:  # it has just been removed
                continue


def times_of(*roots: Path) -> dict[str, int]:
    """Return when each Python file below the folders was changed last, in nanoseconds."""
    return FileSearch().times(roots)


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
