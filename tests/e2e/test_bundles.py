"""The code that is deployed is complete, and made for the platform it is deployed to."""

from __future__ import annotations

import hashlib
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.bundles import measure
from ojs_aws.cdk.bundle import BACKEND_SERVICES, LOCK, Bundle, Target, backend_bundle, build

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

GROUPS = (
    *("producer", "worker_api", "job_endpoint", "operator", "system", "api_keys", "authorizer"),
    *("tick", "stream", "export"),
)
HANDLERS = [*(f"functions.{group}.handler" for group in GROUPS), "ojs_aws.local.demo"]
ELF_MACHINES = {"arm64": 0xB7, "x86_64": 0x3E}


@pytest.mark.parametrize("module", HANDLERS)
def test_a_handler_imports_from_its_bundle_alone(module: str) -> None:
    """Without this environment's packages: what the bundle lacks, the function would lack."""
    if sys.platform != "linux":
        pytest.skip("bundles are made for Linux")
    folder = build(backend_bundle(Target.host()))
    program = f"import sys; sys.path.insert(0, {str(folder)!r}); import {module} as m; m.handler"
    environ = {
        "AWS_DEFAULT_REGION": "us-east-1",
        "OJS_QUEUE_URL_PREFIX": "https://sqs/1/",
        "OJS_EXPORT_BUCKET": "export",
    }
    command = [sys.executable, "-I", "-S", "-c", program]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("module", ["functions.producer.handler", "functions.stream.handler"])
def test_a_traced_handler_finds_the_tracer_in_its_bundle(module: str) -> None:
    """And says which packages it lacks where it was given the ordinary bundle."""
    if sys.platform != "linux":
        pytest.skip("bundles are made for Linux")
    environ = {
        "AWS_DEFAULT_REGION": "us-east-1",
        "OJS_QUEUE_URL_PREFIX": "https://sqs/1/",
        "OJS_TRACING": "1",
        "LAMBDA_TASK_ROOT": "/var/task",
    }
    errors = ""
    for tracing in (True, False):
        folder = build(backend_bundle(Target.host(), tracing=tracing))
        program = f"import sys; sys.path.insert(0, {str(folder)!r}); import {module}"
        program += "; assert 'aws_xray_sdk' in sys.modules"
        command = [sys.executable, "-I", "-S", "-c", program]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        errors = done.stderr
        assert (done.returncode == 0) is tracing, errors
    assert "OJS_TRACING needs packages that are not installed" in errors


@pytest.mark.parametrize("tracing", [False, True])
@pytest.mark.parametrize("machine", ["arm64", "x86_64"])
def test_compiled_packages_are_for_the_target(machine: str, tracing: bool) -> None:
    """Whatever machine bundles them."""
    target = Target(machine, Target().python)  # type: ignore[arg-type]
    for library in build(backend_bundle(target, tracing=tracing)).rglob("*.so"):
        (elf_machine,) = struct.unpack_from("<H", library.read_bytes()[:20], 18)
        assert elf_machine == ELF_MACHINES[machine], library.name


def test_two_builds_are_the_same_bytes(tmp_path: Path) -> None:
    """Wherever and whenever they are made: what is deployed can be made again, and compared."""
    bundle = backend_bundle(Target.host())
    assert contents(build(bundle, tmp_path / "elsewhere")) == contents(build(bundle))


def test_the_code_of_a_function_stays_within_its_budget() -> None:
    """It is fetched at each cold start."""
    size = measure(build(backend_bundle(Target.host())))
    assert size.has_bytecode
    assert size.is_kept, size


def contents(folder: Path) -> dict[str, str]:
    """The files of a bundle by hash."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_users_requirements_are_installed_within_the_lock(tmp_path: Path) -> None:
    """A worker brings packages of its own; those of the backend keep their versions."""
    code = tmp_path / "worker"
    code.mkdir()
    (code / "jobs.py").write_text("import iniconfig, pydantic\n")
    (code / "requirements.txt").write_text("iniconfig\npydantic>=2\n")
    bundle = Bundle(target=Target.host(), code_dir=code, botocore_services=BACKEND_SERVICES)
    folder = build(bundle, tmp_path / "store")
    assert (folder / "iniconfig").is_dir()
    locked = [line for line in LOCK.read_text().splitlines() if line.startswith("pydantic==")]
    version = locked[0].split("==")[1].split()[0]
    assert [path.name for path in folder.glob("pydantic-*.dist-info")] == [
        f"pydantic-{version}.dist-info"
    ]
