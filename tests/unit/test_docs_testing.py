"""The files of docs/testing.md and docs/testing-server.md are an application whose tests pass."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Final

import pytest

from ojs_aws import RateLimit
from ojs_aws.testing import Ojs
from tests.inner_tests import run_inner_tests

pytestmark = pytest.mark.thorough

pytest_plugins = ["pytester"]

DOCS: Final = Path(__file__).parents[2] / "docs"
TEXT: Final = "\n".join(
    (DOCS / f"{name}.md").read_text("utf-8") for name in ("testing", "testing-server")
)
FILES: Final = dict(re.findall(r"<!-- file: (\S+) -->\n```python\n(.*?)```", TEXT, re.DOTALL))
SETTINGS: Final = """
[pytest]
pythonpath = .
asyncio_mode = auto
asyncio_default_fixture_loop_scope = function
filterwarnings =
    error
    ignore:Using `httpx`
"""


@pytest.fixture
def folder(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder with all files of both pages."""
    monkeypatch.delitem(sys.modules, "shop", raising=False)
    monkeypatch.delenv("OJS_URL", raising=False)
    for name, text in FILES.items():
        (pytester.path / name).write_text(text)
    pytester.makeini(SETTINGS)
    return pytester


def run(folder: pytest.Pytester, *names: str) -> pytest.RunResult:
    """Run test files in this process."""
    return run_inner_tests(folder, *names)


def number_in(*names: str) -> int:
    """Return how many tests files have."""
    return sum(
        len(re.findall(r"^ *(?:async )?def test_", FILES[name], re.MULTILINE)) for name in names
    )


def test_every_block_of_the_page_is_run() -> None:
    """As a file: there is no other Python."""
    assert TEXT.count("```python") == len(FILES)


def test_the_tests_of_the_page_pass(folder: pytest.Pytester) -> None:
    """All of them but those with a server or a web framework."""
    names = sorted(FILES.keys() - {"shop.py", "conftest.py", "test_whole.py", "test_web.py"})
    run(folder, *names).assert_outcomes(passed=number_in(*names))


def test_the_tests_with_a_server_pass(folder: pytest.Pytester) -> None:
    run(folder, "test_whole.py").assert_outcomes(passed=number_in("test_whole.py"))


@pytest.mark.skipif(not importlib.util.find_spec("fastapi"), reason="make setup installs fastapi")
def test_the_tests_of_endpoints_pass(folder: pytest.Pytester) -> None:
    run(folder, "test_web.py").assert_outcomes(passed=number_in("test_web.py"))


def test_the_message_on_the_page_is_what_people_see(folder: pytest.Pytester) -> None:
    """All but the id."""
    name = "test_message.py"
    (folder.path / name).write_text(
        "from shop import send_welcome, sign_up\n"
        "async def test_it(ojs):\n"
        "    await sign_up('ada@example.com')\n"
        "    ojs.assert_enqueued(send_welcome.call('ada@example.org'))\n"
    )
    result = run(folder, name)
    result.assert_outcomes(failed=1)
    (shown,) = re.findall(r"```\nAssertionError: (.*?)```", TEXT, re.DOTALL)
    said = result.stdout.str()
    for line in re.sub(r"\S+…", "*", shown).splitlines():
        before, _, after = line.strip().partition("*")
        assert before in said
        assert after in said


REQUIREMENTS: Final = (DOCS / "testing-requirements.md").read_text("utf-8")
IDS: Final = {
    "5.1": 8,
    "5.2": 6,
    "5.3": 4,
    "6.1": 6,
    "6.2": 4,
    "6.3": 1,
    "6.4": 1,
    "7.1": 8,
    "7.2": 3,
    "7.3": 2,
    "8": 3,
    "9.3": 3,
    "10.3": 1,
}
"""How many rows each section has, beside those that section 11 numbers."""
ROWS: Final = re.findall(
    r"^\| (\S+) \| (?:MUST|SHOULD) \| (?:.+) \| `(\S+)::(\w+)` \|$", REQUIREMENTS, re.MULTILINE
)


def test_every_requirement_is_listed_once() -> None:
    ids = [f"{section}-{n}" for section, count in IDS.items() for n in range(1, count + 1)]
    numbered = [f"TST-{n:03d}" for n in range(1, 7)] + [f"TST-R{n:03d}" for n in range(1, 6)]
    assert [row[0] for row in ROWS] == ids + numbered
    assert REQUIREMENTS.count("\n| ") == len(ROWS) + REQUIREMENTS.count("| id | level |")


@pytest.mark.parametrize(("path", "name"), sorted({row[1:] for row in ROWS}))
def test_the_test_of_a_requirement_exists(path: str, name: str) -> None:
    code = (DOCS.parent / path).read_text("utf-8")
    assert re.search(rf"^(?:async )?def {name}\(", code, re.MULTILINE)


def test_the_table_of_differences_has_every_feature() -> None:
    """Of section 8, in its words or in plainer ones."""
    table = TEXT.partition("## Differences between the modes")[2].partition("\n## ")[0]
    features = re.findall(r"^\| ([^|]+?) \|", table, re.MULTILINE)
    assert {
        "validation of envelopes",
        "state transitions",
        "enqueue middleware",
        "execution middleware",
        "handlers",
        "retries",
        "schedules",
        "reservations that end",
        "concurrency limits",
        "rate limits",
        "unique jobs",
        "workflows",
        "events",
    } <= set(features)


async def test_the_table_is_true_of_inline_mode() -> None:
    """Limits hold back no job, and cron jobs only enqueue."""
    limit = RateLimit(key="api", rate=(1, "1m"))
    with Ojs.inline() as ojs:
        ojs.handle("a.limited", lambda ctx: None)
        for _ in range(2):
            await ojs.client.enqueue("a.limited", rate_limit=limit)
        ojs.assert_completed("a.limited", count=2)
        ojs.freeze_time("2030-02-13T08:59:00Z")
        await ojs.client.cron.register("daily", "0 9 * * *", "a.report")
        ojs.advance_time("1m")
        ojs.assert_enqueued("a.report", state="available", count=1)
