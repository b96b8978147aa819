"""``ojs-aws keys``: made, shown once, listed, rotated, revoked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from ojs_aws.bootstrap import build_authentication
from ojs_aws.cli.app import app
from tests.aws import EmbeddedAws, embedded


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddedAws]:
    """A deployment."""
    monkeypatch.setenv("COLUMNS", "200")
    with embedded() as aws:
        yield aws


def run(aws: EmbeddedAws, *arguments: str, code: int = 0) -> Result:
    """Run the command on the deployment's table."""
    result = CliRunner().invoke(app, ["keys", *arguments, "--table", aws.settings.table])
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


def test_what_cannot_be_is_said_in_words(aws: EmbeddedAws) -> None:
    """With code 1; nothing is made."""
    mixed = run(aws, "create", "x", "--scope", "worker", "--scope", "producer", code=1)
    assert "second key" in mixed.stderr
    assert "no API key" in run(aws, "revoke", "f" * 16, code=1).stderr
    missing = CliRunner().invoke(app, ["keys", "list", "--table", "nowhere"])
    assert missing.exit_code == 1
    assert "Query failed" in missing.stderr
    assert json.loads(run(aws, "list", "--json").stdout) == []
