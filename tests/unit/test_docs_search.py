"""The search of the site: natural questions find the page that answers them first."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
ENGINE: Final = ROOT / "docs" / "_static" / "search-engine.js"
QUESTIONS: Final = {
    "how do I retry a failed job": "retries",
    "retry backoff": "retries",
    "run every night at 3": "cron",
    "crontab with a time zone": "cron",
    "my worker was killed, what happens to its job": "workers",
    "how much does it cost": "costs",
    "price of a million tasks": "costs",
    "delay a task with an ETA": "delays",
    "send an email tomorrow": "delays",
    "how to look into the DLQ": "operations-dead-letters",
    "chord of tasks": "workflows",
    "run jobs in parallel and then one at the end": "workflows",
    "avoid sending the same email twice": "unique-jobs",
    "limit calls to an API per minute": "limits",
    "write a pytest for a job": "testing",
    "outbox pattern": "outbox",
    "get the return value of a task": "results",
    "show a progress bar": "progress",
    "how big may the payload be": "payload-limits",
    "use it with django": "django",
    "deploy a new version without losing jobs": "operations-deploys",
    "why is my job stuck": "operations-jobs",
    "restore the table from a backup": "operations-restore",
    "an alarm rings": "operations",
    "prometheus metrics": "monitoring",
    "create an API key": "security",
    "pause a queue": "queues-pause",
    "run urgent jobs first": "priority",
    "run jobs of one order one after another": "sequences",
    "more than 500 jobs a second in one queue": "wide-queues",
    "one customer floods the queue and others starve": "fairness",
    "add a parameter to a job in production": "job-versions",
    "migrate from celery": "migrating-from-celery",
    "run a worker on ECS": "workers",
    "run each job in a Fargate task": "ecs-bindings",
    "configure the timeout of a binding": "binding-config",
    "run each job in a fargate task of its own": "ecs-bindings",
    "migrate from sidekiq": "migrating-from-rq-sidekiq",
    "all options of a job": "reference/job-options",
    "erase the data of a person": "personal-data",
    "send a job from node": "other-languages",
    "limit jobs for each customer": "limits",
    "keep the jobs of tenants apart": "tenants",
    "only one job at a time per customer": "limits",
    "get a mail at an alarm": "operations",
    "upgrade to a new version of ojs-aws": "upgrades",
    "pass a secret to a job": "payload-limits",
    "tutorial with fastapi": "tutorial-shop",
    "which parts of the specification are missing": "not-there",
    "install and run a first job": "getting-started",
    "how many jobs a second can it handle": "capacity",
    "export finished jobs to s3": "export",
    "open the dashboard": "dashboard",
    "encrypt personal data in arguments": "middleware/encryption",
    "RetryPolicy": "reference/client",
    "OJS_MAX_BATCH_JOBS": "reference/settings",
    "decision 24": "decisions/0024-large-batches-are-a-log",
}
"""What a reader asks, and the page that must come first."""
_ASK: Final = """
require(process.argv[1]);
require(process.argv[2]);
const index = ojsSearch.prepare(ojsSearchIndex);
const asked = JSON.parse(process.argv[3]);
const found = asked.map((one) => ojsSearch.search(index, one).slice(0, 5).map((hit) => hit.name));
console.log(JSON.stringify(found));
"""


def index_of_the_site(folder: Path) -> Path:
    """The index that the search of the site in ``OJS_BUILT_DOCS`` reads, or of one built here."""
    if built := os.environ.get("OJS_BUILT_DOCS"):
        folder = ROOT / built
    else:
        subprocess.run(
            [sys.executable, "-m", "sphinx", "-q", "-b", "dummy", "-j", "2", "docs", str(folder)],
            cwd=ROOT,
            check=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
        )
    return folder / "_static" / "search-index.js"


@pytest.mark.slow
def test_a_question_finds_its_page_first_and_no_decision(tmp_path: Path) -> None:
    """A decision is among the first five only for a question that names its number."""
    node = shutil.which("node")
    if node is None or not importlib.util.find_spec("shibuya"):
        pytest.skip("needs Node and the documentation's packages")
    index = index_of_the_site(tmp_path)
    answer = subprocess.run(
        [node, "-e", _ASK, str(ENGINE), str(index), json.dumps([*QUESTIONS])],
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, list[str]] = dict(zip(QUESTIONS, json.loads(answer.stdout), strict=True))
    wrong = {
        asked: (page, found[asked]) for asked, page in QUESTIONS.items() if found[asked][0] != page
    }
    assert not wrong
    named = {asked for asked, pages in found.items() if any("decisions/" in page for page in pages)}
    assert named == {"decision 24"}
