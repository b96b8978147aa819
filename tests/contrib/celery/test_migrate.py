"""`ojs-aws migrate celery` writes typed jobs that run, and says what differs."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

from ojs_aws.cli.migration.findings import findings_of
from ojs_aws.cli.migration.inventory import read_app
from ojs_aws.cli.terminal.session import ExitCode
from ojs_aws.testing import Ojs
from ojs_aws.worker import Worker
from tests.commands import run_command

APP: Final = "tests.contrib.celery.legacy.app:app"
TASKS: Final = "tests.contrib.celery.legacy.tasks"
CHECKOUT: Final = Path(__file__).parents[3]
DOCS: Final = CHECKOUT / "docs"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as the command wrote it, in a process that has no other Celery app."""
    folder = tmp_path_factory.mktemp("written") / "moved"
    command = [sys.executable, "-m", "ojs_aws.cli", "migrate", "celery", APP, "-o", str(folder)]
    subprocess.run(command, cwd=CHECKOUT, check=True, capture_output=True)
    return folder


@pytest.fixture
def package(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A copy of the package, which can be imported as `moved`."""
    shutil.copytree(written, tmp_path / "moved")
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path / "moved"
    for name in [name for name in sys.modules if name.split(".")[0] == "moved"]:
        del sys.modules[name]


@pytest.fixture
def jobs(package: Path) -> ModuleType:
    return importlib.import_module(f"{package.name}.jobs")


def test_the_written_package_passes_ruff(package: Path) -> None:
    """Its check, with sorted imports and more, and its formatter, with the default settings."""
    rules = "E4,E7,E9,F,I,UP,B,C4,SIM,RET,D1"
    for arguments in (("check", "--select", rules), ("format", "--check")):
        command = [sys.executable, "-m", "ruff", *arguments, "--isolated", "--no-cache"]
        ran = subprocess.run([*command, package], capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout


def test_the_worker_serves_the_queues_of_the_tasks(package: Path) -> None:
    worker: Worker = importlib.import_module(f"{package.name}.worker").worker
    worker.freeze()
    assert set(worker.queues) == {"celery", "e-mail"}
    names = ("report", "send_email", "send_sms", "tick")
    assert {*worker.registry} == {"pay.charge", *(f"{TASKS}.{name}" for name in names)}


def test_a_job_calls_the_function_of_its_task(jobs: Any, ojs: Ojs) -> None:
    mail = jobs.send_email.enqueue_sync("ada@example.com", urgent=True)
    report = jobs.report.enqueue_sync("daily", None, None, None, [1, 2], {"x": 3})
    text = jobs.send_sms.enqueue_sync("0123", "hello")
    jobs.tick.enqueue_sync()
    ojs.drain_sync()
    assert mail.result() == "ada@example.com welcome True"
    assert report.result()["more"] == [1, 2]
    assert report.result()["x"] == 3
    assert text.result() == [None, "0123"]


def test_self_retry_raises_what_the_policy_retries(jobs: Any, ojs: Ojs) -> None:
    jobs.send_sms.enqueue_sync("0123", "busy")
    ojs.drain_sync(raise_errors=False)
    [job] = ojs.assert_failed(f"{TASKS}.send_sms", state="retryable")
    assert job.error is not None
    assert (job.error["type"], job["retry_delay_ms"]) == ("TimeoutError", 60_000)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        (
            f"{TASKS}.send_email",
            {
                "retry": {
                    "max_attempts": 6,
                    "initial_interval": "1s",
                    "max_interval": "10m",
                },
                "timeout": "30s",
                "rate_limit": {
                    "key": f"{TASKS}.send_email",
                    "throttle": {"limit": 100, "period": "1m"},
                },
                "queue": "e-mail",
            },
        ),
        (
            "pay.charge",
            {
                "retry": {
                    "max_attempts": 8,
                    "initial_interval": "5s",
                    "backoff_strategy": "none",
                    "jitter": False,
                    "non_retryable_errors": ["ValueError"],
                },
                "queue": "celery",
            },
        ),
        (f"{TASKS}.report", {"retry": {"max_attempts": 1}, "queue": "celery"}),
        (
            f"{TASKS}.tick",
            {"retry": {"max_attempts": 3}, "timeout": "20s", "result_ttl_s": 0, "queue": "celery"},
        ),
    ],
)
def test_options_of_a_task_become_those_of_its_job(jobs: Any, name: str, options: object) -> None:
    declared = {made.type: made for made in jobs.jobs}
    assert declared[name].options == options


def test_errors_of_autoretry_for_are_those_that_are_retried(jobs: Any) -> None:
    policy = jobs.send_email.declaration.options["retry"]
    assert [each.__name__ for each in policy.retry_on] == ["SMTPException", "TimeoutError"]


def test_entries_of_beat_become_cron_jobs(package: Path, ojs: Ojs) -> None:
    cron = importlib.import_module(f"{package.name}.cron")
    cron.register(ojs.sync_client)
    found = {each.name: each for each in ojs.sync_client.cron.list()}
    assert {name: (each.cron, each.enabled) for name, each in found.items()} == {
        "nightly": ("30 2 * 3,6 MON,FRI", True),
        "tick": ("@every 1m30s", True),
        "first-monday": ("0 9 1-7 * 1", False),
        "too-often": ("@every 1s", True),
    }
    assert found["nightly"].timezone == "Europe/Berlin"
    assert found["nightly"].overlap_policy == "allow"
    triggered = ojs.sync_client.cron.trigger("nightly")
    assert triggered.job_id is not None
    ojs.assert_enqueued(f"{TASKS}.report", queue="reports", args=["daily"])


def test_the_report_names_what_differs(package: Path) -> None:
    report = (package / "MIGRATION.md").read_text("utf-8")
    rows = [line.split(" | ") for line in report.splitlines() if line.startswith("| ")]
    found = {(row[0].removeprefix("| ").split(":")[0], row[1]) for row in rows}
    for where, what in (
        (f"{TASKS}.send_sms", "calls self.retry"),
        (f"{TASKS}.send_sms", "reads self.request"),
        (f"{TASKS}.send_sms", "it is retried for ever"),
        (f"{TASKS}.send_sms", "its queue is E_mail"),
        (f"{TASKS}.send_email", "rate_limit 100/m holds for each worker by itself"),
        (f"{TASKS}.tick", "SoftTimeLimitExceeded is not raised"),
        (f"{TASKS}.report", "takes **options"),
        (f"{TASKS}.report", "takes *more beside others"),
        (f"{TASKS}.report", "the type of customer"),
        (f"{TASKS}.report", "its class has on_failure"),
        ("pay.Charge", "its arguments are sent as pickle"),
        ("task_routes", "a router function decides about queues"),
        (TASKS, "a chord"),
        (TASKS, "headers of messages"),
        (TASKS, "signals"),
        ("beat", "a schedule of the kind AtSunset"),
        ("beat", "there is no task tests.contrib.celery.legacy.tasks.gone"),
        ("beat", "options expires"),
        ("beat", "it runs every 0.5 s"),
    ):
        assert (where, what) in found
    assert any("both match" in what for _, what in found)
    assert any(what.startswith("acks_late") for _, what in found)


def test_each_finding_leads_to_a_section_that_exists(package: Path) -> None:
    report = (package / "MIGRATION.md").read_text("utf-8")
    pages = {*re.findall(r"\bdocs/([\w/.#-]+\.md(?:#[\w-]+)?)", report)}
    assert len(pages) > 10
    for page, _, section in (each.partition("#") for each in sorted(pages)):
        headings = re.findall(r"^#+ (.+)$", (DOCS / page).read_text("utf-8"), re.MULTILINE)
        anchors = {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in headings}
        assert not section or section in anchors, (page, section)


def test_nothing_is_overwritten(package: Path) -> None:
    (package / "worker.py").unlink()
    (package / "jobs.py").write_text("mine")
    ran = run_command("migrate", "celery", APP, "--output", str(package))
    assert (ran.exit_code, "jobs.py" in ran.stderr) == (ExitCode.CONFLICT, True)
    assert (package / "jobs.py").read_text() == "mine"
    assert not (package / "worker.py").exists()


def test_a_dry_run_prints_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run_command("migrate", "celery", APP, "--dry-run")
    assert ran.exit_code == 0
    assert "jobs = Jobs()" in ran.stdout
    assert "What differs" in ran.stdout
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("no_such_module:app", "no module 'no_such_module'"),
        ("tests.contrib.celery.legacy.app:nothing", "leads nowhere"),
        ("tests.contrib.celery.legacy.app:TASKS", "no Celery app"),
    ],
)
def test_a_wrong_path_is_said_with_what_to_write(path: str, message: str) -> None:
    ran = run_command("migrate", "celery", path)
    assert ran.exit_code == ExitCode.USAGE
    assert message in ran.stderr.replace("\n", " ")


def test_a_task_without_oddities_is_not_in_the_list() -> None:
    """So that the list is worth reading. Celery shows an app the tasks of all others, too."""
    found = [each.where for each in findings_of(read_app("tests.contrib.celery.plain:app"))]
    assert found[0] == "all tasks"
    assert not [where for where in found if where.startswith("tests.contrib.celery.plain")]
