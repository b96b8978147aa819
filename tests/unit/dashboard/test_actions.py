"""Every change that the page can make shows the `ojs-aws` line that does the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from ojs_aws.dashboard import files
from tests.commands import command_tree

SOURCES: Final = Path(files.__file__).parent / "web" / "src"
PAGES: Final = {path.name: path.read_text() for path in sorted(SOURCES.rglob("*.ts*"))}
CHANGES: Final = {
    "bulk_changes.ts": ("retry", "cancel", "delete"),
    "queue_actions.ts": ("pause", "resume", "drain"),
    "cron.tsx": ("pause", "resume"),
    "workers.tsx": ("quiet", "resume", "terminate"),
}
"""What the name `change` stands for in a command line, by module."""


def known(words: list[str]) -> bool:
    """Return whether the words begin with a command of the command line."""
    command = command_tree()
    for number, word in enumerate(words):
        commands = getattr(command, "commands", None)
        if commands is None:
            return True
        if word not in commands:
            return False
        command = commands[word]
        if number == len(words) - 1:
            return getattr(command, "commands", None) is None
    return False


def lines_of(module: str) -> list[list[str]]:
    """Return the fixed words at the beginning of each command line in a module."""
    found: list[list[str]] = []
    for group, rest in re.findall(
        r'ojsAws\("([a-z-]+)"((?:, (?:"[a-z-]+"|change\b))*)', PAGES[module]
    ):
        words = [word.strip(' "') for word in rest.split(",") if word.strip()]
        names = CHANGES.get(module, ())
        found += [
            [group, *(name if word == "change" else word for word in words)]
            for name in (names if "change" in words else ("",))
        ]
    found += [words.split() for words in re.findall(r"`ojs-aws ([a-z -]+?) \$\{", PAGES[module])]
    return found


def test_every_command_line_of_the_page_is_a_command() -> None:
    """Group and name; what follows are options and values."""
    lines = [(module, words) for module in PAGES for words in lines_of(module)]
    assert len(lines) > 20
    assert [each for each in lines if not known(each[1])] == []


def test_every_change_asks_and_shows_its_command_line() -> None:
    """A request that writes stands in an action, which has a command, or beside one."""
    assert "readonly command: string | ((value: string) => string);" in PAGES["action.tsx"]
    writing = {
        module
        for module, text in PAGES.items()
        if re.search(r'call(?:At)?(?:<[^(]*>)?\(\s*"(?:POST|PUT|PATCH|DELETE)"', text)
    }
    assert {"bulk_changes.ts", "queue_actions.ts", "job_copy.tsx", "workers.tsx"} <= writing
    for module in writing:
        text = PAGES[module]
        actions = len(re.findall(r"^    run: ", text, re.MULTILINE))
        commands = len(re.findall(r"^    command: ", text, re.MULTILINE))
        shown = text.count('label="Command line"')
        assert actions == commands, module
        assert actions or shown, module


def test_known_commands_are_recognised() -> None:
    """The check above can fail."""
    assert known(["jobs", "retry"])
    assert known(["why"])
    assert not known(["jobs"])
    assert not known(["jobs", "explode"])
