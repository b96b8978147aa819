"""Settings, discovery, and the commands of manage.py."""

from __future__ import annotations

import asyncio
import importlib
import signal
import subprocess
import sys
from collections.abc import Mapping
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import pytest
from django.core.management import CommandError, call_command
from django.core.management.base import SystemCheckError
from django.db import connections
from django.test import override_settings

from ojs_aws import Jobs, Worker
from ojs_aws.contrib.django.apps import check_options, discovered
from ojs_aws.contrib.django.options import make_enqueuing_client
from ojs_aws.contrib.django.workers import make_worker
from ojs_aws.middleware.context import JobContext
from ojs_aws.middleware.results import RegistrationError
from ojs_aws.testing import Ojs
from tests.contrib.django.shop.jobs import acount, count, jobs
from tests.load import HUNG_S

URL = "http://127.0.0.1:1"


def test_the_jobs_of_installed_apps_are_found() -> None:
    assert discovered() == [jobs]


@pytest.mark.parametrize(
    ("setting", "shown"),
    [
        ({"URI": URL}, "OJS['URI']: Extra inputs are not permitted."),
        ({"CONCURRENCY": 0}, "OJS['CONCURRENCY']: Input should be greater than or equal to 1."),
        ({"CRON": {"a": {"cron": "@daily"}}}, "OJS['CRON']['a']['job']: Field required."),
        ({"URL": URL, "CRON": {"a": {"cron": "@daily", "job": "os.getcwd"}}}, "is no typed job"),
        ({}, "Nothing says where the OJS server is, and jobs are sent from this process."),
        ({"OUTBOX": {}}, "Nothing says where the OJS server is"),
    ],
)
def test_the_system_check_says_what_is_wrong(setting: Mapping[str, object], shown: str) -> None:
    with override_settings(OJS=setting):
        assert shown in str(check_options()[0])


def test_only_who_sends_needs_a_server() -> None:
    """Where a separate relay sends, rows are written without one; tasks are sent at once."""
    tasks = {"default": {"BACKEND": "ojs_aws.contrib.django.tasks.OjsBackend"}}
    with override_settings(OJS={"OUTBOX": {"RELAY": "separate"}}):
        assert check_options() == []
        with pytest.raises(ValueError, match="OJS_URL"):
            asyncio.run(make_enqueuing_client().enqueue(count.call().to_job()))
        with pytest.raises(CommandError, match="OJS_URL"):
            call_command("ojs_relay")
        with override_settings(TASKS=tasks):
            assert "Nothing says" in str(check_options()[0])


def test_a_check_never_shows_a_value() -> None:
    with override_settings(OJS={"API_KEY": ["secret"]}):
        assert "secret" not in str(check_options()[0])


def test_a_right_setting_passes_and_a_wrong_one_stops_commands() -> None:
    with override_settings(OJS={"URL": URL}):
        call_command("check", stdout=StringIO(), stderr=StringIO())
    with override_settings(OJS={"URI": URL}), pytest.raises(SystemCheckError):
        call_command("check", stdout=StringIO(), stderr=StringIO())


def test_the_worker_has_all_jobs_and_what_the_setting_says() -> None:
    with override_settings(OJS={"URL": URL, "CONCURRENCY": 3, "QUEUES": ["a", "b"]}):
        worker = make_worker()
    assert sorted(worker.registry) == ["shop.acount", "shop.count", "shop.welcome"]
    assert (worker.concurrency, worker.queues) == (3, ("a", "b"))
    assert worker.server.startswith(URL)


def test_a_job_closes_the_connections_of_its_thread() -> None:
    worker = make_worker_anywhere()
    with patch.object(connections, "close_all", wraps=connections.close_all) as close:
        handler = worker.registry.find("shop.count", None)
        assert handler.bound_to(JobContext(count.call().to_job()))() == 3
    assert close.call_count == 1


def test_an_asynchronous_job_runs_in_the_loop() -> None:
    handler = make_worker_anywhere().registry.find("shop.acount", None)
    coroutine = handler.bound_to(JobContext(acount.call(4).to_job()))()
    assert asyncio.iscoroutine(coroutine)
    assert asyncio.run(coroutine) == 4


def make_worker_anywhere() -> Worker:
    with override_settings(OJS={"URL": URL}):
        return make_worker()


def test_a_worker_without_a_server_is_refused() -> None:
    with pytest.raises(CommandError, match="OJS_URL"):
        call_command("ojs_worker", skip_checks=True)


def test_cron_jobs_of_the_setting_are_registered_and_deleted(ojs: Ojs) -> None:
    entry = {
        "cron": "0 3 * * *",
        "job": "tests.contrib.django.shop.jobs.welcome",
        "args": [7],
        "timezone": "Europe/Vienna",
    }
    out = StringIO()
    with override_settings(OJS={"CRON": {"nightly": entry}}):
        call_command("ojs_cron_sync", stdout=out)
        call_command("ojs_cron_sync", stdout=out)
        with pytest.raises(CommandError, match="remove it there first"):
            call_command("ojs_cron_sync", delete=["nightly"])
    [cron] = ojs.sync_client.cron.list()
    assert (cron.name, cron.cron, cron.type, cron.timezone) == (
        "nightly", "0 3 * * *", "shop.welcome", "Europe/Vienna",
    )  # fmt: skip
    with override_settings(OJS={}):
        call_command("ojs_cron_sync", delete=["nightly", "never"], stdout=out)
    assert ojs.sync_client.cron.list() == []


def test_a_refused_cron_job_is_an_error_of_the_command(ojs: Ojs) -> None:
    entry = {"cron": "wrong", "job": "tests.contrib.django.shop.jobs.welcome", "args": [7]}
    with override_settings(OJS={"CRON": {"a": entry}}), pytest.raises(CommandError, match="cron"):
        call_command("ojs_cron_sync")


def test_included_jobs_are_run_and_declared_once() -> None:
    both = Jobs()
    both.include(jobs)
    assert [each.type for each in both] == [each.type for each in jobs]
    with pytest.raises(RegistrationError, match="declared already"):
        both.include(jobs)


@pytest.mark.e2e
def test_a_worker_process_ends_at_sigterm(tmp_path: Path) -> None:
    """With a server that does not answer: it waits for jobs, and then for nothing."""
    (tmp_path / "site_settings.py").write_text(
        f"SECRET_KEY = 'x'\nOJS = {{'URL': {URL!r}}}\n"
        "INSTALLED_APPS = ['ojs_aws.contrib.django', 'tests.contrib.django.shop']\n"
    )
    root = Path(importlib.import_module("ojs_aws").__file__ or "").parents[1]
    command = [sys.executable, "-m", "django", "ojs_worker", "--settings", "site_settings"]
    process = subprocess.Popen(
        [*command, "--pythonpath", str(tmp_path)],
        cwd=root,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    line = next(line for line in process.stderr if URL in line)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=HUNG_S)
    assert (process.returncode, URL in line) == (0, True)
