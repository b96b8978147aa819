"""Test a program that follows the log of events, against a real server."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from examples.events.follow import main
from ojs_aws.testing import OjsServer


def test_each_run_goes_on_where_the_last_one_ended(
    ojs_server: OjsServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    cursor = tmp_path / "events.cursor"
    monkeypatch.setenv("OJS_URL", ojs_server.url)
    options = ["--types", "job.enqueued", "--cursor-file", str(cursor), "--once"]
    monkeypatch.setattr(sys, "argv", ["follow.py", *options])
    seen = ""
    for job_type in ("email.send", "report.build"):
        job = ojs_server.sync_client.enqueue(job_type)
        while not (said := capsys.readouterr().out):  # events come a moment later
            main()
        assert "job.enqueued" in said
        assert job.id in said
        assert not seen or seen not in said
        seen = job.id
