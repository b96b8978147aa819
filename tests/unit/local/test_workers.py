"""What ``ojs-aws local --worker`` takes: a worker, or the handler that Lambda is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from ojs_aws.local import StartError, load_worker

MODULE = """
from ojs_aws import LambdaWorker

worker = LambdaWorker(queues=["email"])
handler = worker.lambda_handler

def function(event, context): ...
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of somebody's in the working directory."""
    (tmp_path / "somebodys_jobs.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize("path", ["somebodys_jobs:worker", "somebodys_jobs:handler"])
def test_a_worker_is_loaded_by_its_name_or_by_its_handler_s(path: str) -> None:
    assert list(load_worker(path).queues) == ["email"]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("somebodys_jobs:function", "is a function and no LambdaWorker: name the worker itself"),
        ("somebodys_jobs:nothing", "has no attribute 'nothing'"),
        ("nobodys_jobs:worker", "Cannot import 'nobodys_jobs'"),
    ],
)
def test_what_is_no_worker_is_refused_by_its_name(path: str, said: str) -> None:
    """An AttributeError about ``queues`` said nothing of it."""
    with pytest.raises(StartError, match=said):
        load_worker(path)
