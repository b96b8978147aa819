"""Middleware and hooks of the users' own reach the functions that load them, and no others."""

from __future__ import annotations

from pathlib import Path

import pytest

from ojs_aws.cdk.bundle import Target, backend_bundle
from ojs_aws.cdk.job_backend_props import BackendExtensions


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A folder with a module and a package."""
    (tmp_path / "policies.py").write_text("chain = None\n")
    (tmp_path / "company").mkdir()
    (tmp_path / "company" / "__init__.py").write_text("hooks = None\n")
    return tmp_path


def test_only_the_functions_that_load_the_code_carry_it(code: Path) -> None:
    """Others stay small, and their code does not change with it."""
    extensions = BackendExtensions(
        code_dir=code, enqueue_middleware="policies:chain", hooks="company:hooks"
    )
    plain = backend_bundle(Target())
    for function in ("producer", "job_endpoint", "operator", "tick", "event_jobs", "stream"):
        assert extensions.bundled_with(plain, function).code_dir == code
    for function in ("worker_api", "system", "api_keys"):
        assert extensions.bundled_with(plain, function) == plain
        assert extensions.environment(function) == {}
    for enqueues in (
        "producer",
        "job_endpoint",
        "operator",
        "tick",
        "event_jobs",
    ):  # the operator's: a cron job's trigger
        assert extensions.environment(enqueues) == {
            "OJS_ENQUEUE_MIDDLEWARE": "policies:chain",
            "OJS_HOOKS": "company:hooks",
        }
    assert extensions.environment("stream") == {"OJS_HOOKS": "company:hooks"}


def test_without_hooks_the_stream_carries_nothing(code: Path) -> None:
    extensions = BackendExtensions(code_dir=code, enqueue_middleware="policies")
    plain = backend_bundle(Target())
    assert extensions.bundled_with(plain, "stream") == plain
    assert extensions.bundled_with(plain, "producer").code_dir == code


def test_a_further_aws_service_keeps_its_model(code: Path) -> None:
    extensions = BackendExtensions(
        code_dir=code, enqueue_middleware="policies", aws_services=["kms"]
    )
    services = extensions.bundled_with(backend_bundle(Target()), "producer").botocore_services
    assert services == ("dynamodb", "events", "kms", "lambda", "s3", "sqs")


def test_a_path_that_leads_nowhere_is_refused_at_synthesis(code: Path) -> None:
    """And not by the first job after the deployment."""
    with pytest.raises(ValueError, match="'missing:chain' names no module"):
        BackendExtensions(code_dir=code, enqueue_middleware="missing:chain")
    with pytest.raises(ValueError, match="nothing else would be loaded"):
        BackendExtensions(code_dir=code)
