"""``ojs-aws keys``: made, shown once, listed, rotated, revoked."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from ojs_aws.bootstrap import build_authentication
from tests.aws import EmbeddedAws, embedded
from tests.commands import run_command

pytestmark = pytest.mark.moto

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddedAws]:
    """A deployment."""
    monkeypatch.setenv("COLUMNS", "200")
    with embedded() as aws:
        yield aws


def run(aws: EmbeddedAws, *arguments: str, code: int = 0) -> Result:
    """Run the command on the deployment's table."""
    result = run_command("keys", *arguments, "--table", aws.settings.table)
    assert result.exit_code == code, result.output
    return result


def create(aws: EmbeddedAws, *arguments: str) -> Any:
    """Make a key, and read what is printed."""
    return json.loads(run(aws, "create", "shop", *arguments, "--json").stdout)


def test_a_key_is_printed_alone_and_only_once(aws: EmbeddedAws) -> None:
    """To standard output, so that it can be piped; no other command shows it."""
    result = run(aws, "create", "shop", "--scope", "producer", "--queue", "email")
    text = result.stdout.strip()
    verdict = build_authentication(aws.settings, aws.clients.dynamodb)(f"Bearer {text}")
    assert verdict.caller is not None
    assert verdict.caller.queues == ("email",)
    assert verdict.key_id in result.stderr
    for listing in (run(aws, "list"), run(aws, "list", "--json")):
        assert verdict.key_id in listing.stdout
        assert text[21:] not in listing.stdout


def test_keys_are_rotated_and_revoked_by_their_ids(aws: EmbeddedAws) -> None:
    """What the list says follows."""
    key = create(aws, "--scope", "operator", "--expires-in", "90d")
    assert key["expires_at"] is not None
    again = json.loads(run(aws, "rotate", key["id"], "--grace", "1h", "--json").stdout)
    assert again["key"] != key["key"]
    assert [bool(kept["expires_at"]) for kept in again["secrets"]] == [False, True]
    assert key["id"] in run(aws, "revoke", key["id"]).stdout
    (listed,) = json.loads(run(aws, "list", "--json").stdout)
    assert (listed["revoked_at"] is not None, listed["secrets"]) == (True, [])
    assert "revoked" in run(aws, "list").stdout


def test_the_list_says_in_a_line_what_each_key_is_good_for(aws: EmbeddedAws) -> None:
    """Until when, or that it has ended; nothing of a line is cut where nobody looks at it."""
    ids = {
        said: create(aws, "--scope", "operator", *more)["id"]
        for said, more in {
            "  until ": ["--expires-in", "90d"],
            "  ended ": ["--expires-in", "1ms"],
            "  valid": [],
        }.items()
    }
    shown = run(aws, "list").stdout.splitlines()
    assert len(shown) == 1 + len(ids)
    for said, key_id in ids.items():
        assert any(line.startswith(key_id) and said in line for line in shown)
    assert "\N{HORIZONTAL ELLIPSIS}" not in "".join(shown)


def documented() -> list[str]:
    """The keys that the documentation makes."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    return re.findall(r"ojs-aws keys (create [a-z-]+ --scope [^\n)`;|]+)", text)


def test_the_keys_of_the_documentation_can_be_made(aws: EmbeddedAws) -> None:
    """As they are written."""
    commands = documented()
    assert len(commands) >= 4
    for command in commands:
        assert run(aws, *shlex.split(command)).stdout.startswith("ojs_"), command


def test_what_cannot_be_is_said_in_words(aws: EmbeddedAws) -> None:
    """With the code of its kind; nothing is made."""
    mixed = run(aws, "create", "x", "--scope", "worker", "--scope", "producer", code=2)
    assert "second key" in mixed.stderr
    assert "no API key" in run(aws, "revoke", "f" * 16, code=3).stderr
    missing = run_command("keys", "list", "--table", "nowhere")
    assert missing.exit_code == 1
    assert "Query failed" in missing.stderr
    assert "OJS_TABLE" in missing.stderr
    assert json.loads(run(aws, "list", "--json").stdout) == []


@pytest.mark.parametrize(
    ("missing", "message"), [("AWS_DEFAULT_REGION", "no AWS region"), ("AWS_ACCESS_KEY_ID", "AWS")]
)
def test_an_error_without_aws_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch, missing: str, message: str
) -> None:
    """Not by a traceback."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "y",
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_CONFIG_FILE": "/nowhere",
        "AWS_SHARED_CREDENTIALS_FILE": "/nowhere",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:9",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.delenv(missing)
    result = run_command("keys", "list")
    assert result.exit_code == 5, result.output
    assert message in result.stderr
    assert "AWS_REGION" in result.stderr


def test_the_region_of_the_environment_is_taken(
    aws: EmbeddedAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By either of its names; the SDK alone would read one."""
    with monkeypatch.context() as patch:
        patch.delenv("AWS_DEFAULT_REGION")
        patch.setenv("AWS_REGION", "us-east-1")
        assert create(aws, "--scope", "worker")["key"]
