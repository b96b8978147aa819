"""Puts a Lambda function's code together, without Docker.

The locked packages are installed by pip as wheels of the target platform, whatever this machine
is; the sources are copied beside them. Bundles are kept under ``build/lambda`` by a hash of all
that goes in, so that only what changed is built again. Nothing here needs the CDK or Node.

A checkout has the entry points (``functions/``) and the lock files beside ``ojs_aws``. A wheel has
them in ``data/`` beside this module: ``ojs_aws`` is then all that is installed, and an application
may have packages ``functions`` and ``infra`` of its own.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Final, Literal

from ojs_aws.cdk.bundle_store import precompile, slim, stored_once

Machine = Literal["arm64", "x86_64"]

_HERE: Final = Path(__file__).resolve().parent

_DATA: Final = _HERE / "data"

PACKAGE: Final = _HERE.parent
"""The folder of ``ojs_aws`` itself."""

_BESIDE: Final = _DATA if _DATA.is_dir() else PACKAGE.parent

FUNCTIONS: Final = _BESIDE / "functions"
"""The folder of the entry points; the handlers in a bundle are ``functions.<name>.handler``."""

LOCK: Final = _BESIDE / "requirements-lambda.lock"
"""The packages of a function with their hashes."""

TRACING_LOCK: Final = _BESIDE / "requirements-lambda-tracing.lock"
"""The same, and what a function needs beside them to be traced."""

BACKEND_SERVICES: Final = ("dynamodb", "events", "lambda", "s3", "sqs")
"""The AWS services whose botocore models the backend's own functions need."""

_FORMAT: Final = "2"
"""Part of each hash: changes when bundles are put together differently."""

_WHEEL_TAGS: Final = {"arm64": "aarch64", "x86_64": "x86_64"}
_GLIBC: Final = ("2014", "_2_17", "_2_28", "_2_34")
"""The manylinux platforms that Amazon Linux 2023 (glibc 2.34) runs."""

PAGE: Final = PACKAGE / "dashboard"
"""The folder of the dashboard's page."""

_NEEDLESS: Final = {
    PACKAGE: frozenset({_HERE.name, PAGE.name, "cli", "memory_aws", "pricing", "testing"}),
    PAGE: frozenset({"web"}),
}
"""What bundles leave out of a folder: the constructs, the page (it is a bundle of its own), the
command line and its estimates, the testing kit with its AWS, and the sources of the page."""

_CACHED_OR_HIDDEN: Final = shutil.ignore_patterns("__pycache__", "*.pyc", ".*")


class BundlingError(RuntimeError):
    """Says why a bundle cannot be made, and what to do."""


@dataclass(frozen=True, slots=True)
class Target:
    """Names the processor and the Python that functions run on.

    ``Target()`` is AWS's cheapest: Graviton. ``Target.HOST`` is this machine and its Python, for an
    emulator that runs functions as its own processes. Code for another target fails there at its
    first import, and the API answers ``Internal Server Error``.

    :ivar machine: the Lambda architecture, ``arm64`` or ``x86_64``.
    :ivar python: the Python version of the Lambda runtime, such as ``3.13``.
    """

    HOST: ClassVar[Target]

    machine: Machine = "arm64"
    python: str = "3.13"

    @classmethod
    def host(cls) -> Target:
        """Return this machine and its Python; ``Target.HOST`` is the same."""
        is_arm = platform.machine().lower() in {"arm64", "aarch64"}
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        return cls("arm64" if is_arm else "x86_64", version)

    def __str__(self) -> str:
        """Describe it as people say it."""
        return f"{self.machine} and Python {self.python}"


Target.HOST = Target.host()


def default_target(environ: Mapping[str, str] | None = None) -> Target:
    """Return what functions run on where nobody chooses.

    This machine while ``AWS_ENDPOINT_URL`` is set: it names an emulator. Else ``Target()``.
    """
    is_emulated = bool((os.environ if environ is None else environ).get("AWS_ENDPOINT_URL"))
    return Target.HOST if is_emulated else Target()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """Lists what goes into a function's code.

    :ivar lock: the packages to install with their hashes; None: no packages.
    :ivar packages: folders of Python packages, copied beside the installed ones by their names.
    :ivar code_dir: folder whose content is copied to the top; a ``requirements.txt`` in it is
        installed too, within the versions of the lock.
    :ivar botocore_services: keep only the models of these services; None keeps all. The models
        of all services are 25 MB.
    """

    target: Target = field(default_factory=Target)
    lock: Path | None = LOCK
    packages: tuple[Path, ...] = (PACKAGE,)
    code_dir: Path | None = None
    botocore_services: tuple[str, ...] | None = None

    def digest(self) -> str:
        """Return a hash of everything that goes in."""
        parts = [_FORMAT, repr(self.target), repr(self.botocore_services)]
        parts.append(f"compiled: {_compiler(self.target) is not None}")
        parts.append(self.lock.read_text() if self.lock else "")
        folders = [*self.packages, *([self.code_dir] if self.code_dir else [])]
        for folder in folders:
            for path in _files(folder):
                content = hashlib.sha256(path.read_bytes()).hexdigest()
                parts.append(f"{folder.name}/{path.relative_to(folder)} {content}")
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def lock_of(*, tracing: bool) -> Path:
    """Return the lock file of a function that is traced, or not."""
    return TRACING_LOCK if tracing else LOCK


def backend_bundle(target: Target, *, tracing: bool = False) -> Bundle:
    """Return the bundle of the backend's own functions: one for all of them."""
    return Bundle(
        target=target,
        lock=lock_of(tracing=tracing),
        packages=(PACKAGE, FUNCTIONS),
        botocore_services=BACKEND_SERVICES,
    )


def with_services(bundle: Bundle, services: Sequence[str]) -> Bundle:
    """Return a bundle with the models of more services, by botocore's names."""
    known = bundle.botocore_services
    if known is None:
        return bundle
    return replace(bundle, botocore_services=tuple(sorted({*known, *services})))


def page_bundle(target: Target) -> Bundle:
    """Return the bundle of the function that serves the dashboard: the page, and nothing else."""
    return Bundle(target=target, lock=None, packages=(PAGE,))


def build(bundle: Bundle, store: Path | None = None) -> Path:
    """Return the folder of a bundle, which is made when it is not there yet.

    :param store: where bundles are kept; ``build/lambda`` in the working directory by default.
    :raises BundlingError: a source is missing or replaces another one, or a package has no wheel
        for the target.
    """
    store = (store or Path("build/lambda")).resolve()
    _check(bundle)
    return stored_once(
        store / "code" / bundle.digest(), lambda folder: _assemble(bundle, store, folder)
    )


def _check(bundle: Bundle) -> None:
    """Refuse what cannot be put together.

    :raises BundlingError: a source is missing, or would replace another one.
    """
    folders = [*bundle.packages, *([bundle.code_dir] if bundle.code_dir else [])]
    for source in (bundle.lock, *folders):
        if source is not None and not source.exists():
            raise BundlingError(f"{source} does not exist; a function's code is made from it.")
    for package in bundle.packages:
        if bundle.code_dir and (bundle.code_dir / package.name).exists():
            raise BundlingError(
                f"{bundle.code_dir} has a {package.name!r} of its own, which would replace the "
                "backend's in the bundle: name a folder that has none."
            )


def _assemble(bundle: Bundle, store: Path, folder: Path) -> None:
    own = bundle.code_dir / "requirements.txt" if bundle.code_dir else None
    if bundle.lock is not None:
        # The user's packages first: where both name a file it is the same version, or the lock's.
        if own and own.exists():
            shutil.copytree(_installed(bundle, bundle.lock, store, own), folder, dirs_exist_ok=True)
        shutil.copytree(_installed(bundle, bundle.lock, store, None), folder, dirs_exist_ok=True)
    for package in bundle.packages:
        shutil.copytree(package, folder / package.name, ignore=_left_out)
    if bundle.code_dir:
        shutil.copytree(bundle.code_dir, folder, ignore=_left_out, dirs_exist_ok=True)
    if (python := _compiler(bundle.target)) is not None:
        precompile(python, folder)


def _installed(bundle: Bundle, lock: Path, store: Path, requirements: Path | None) -> Path:
    """Return the folder of installed wheels: the lock's, or a user's own within its versions."""
    text = "\n".join(
        [
            _FORMAT,
            repr((bundle.target, bundle.botocore_services)),
            lock.read_text(),
            requirements.read_text() if requirements else "",
        ]
    )
    digest = hashlib.sha256(text.encode()).hexdigest()[:32]

    def install(folder: Path) -> None:
        if requirements is None:
            _pip(bundle.target, folder, "--no-deps", "--require-hashes", "-r", str(lock))
        else:
            with tempfile.NamedTemporaryFile("w", suffix=".txt") as constraints:
                constraints.write("\n".join(_versions(lock.read_text())))
                constraints.flush()
                _pip(bundle.target, folder, "-c", constraints.name, "-r", str(requirements))
        slim(folder, bundle.botocore_services)

    return stored_once(store / "packages" / digest, install)


def _versions(lock: str) -> Iterable[str]:
    """Return the ``name==version`` lines of a lock file, without its hashes."""
    return re.findall(r"^[A-Za-z0-9._-]+==[^\s;\\]+", lock, re.MULTILINE)


def _pip(target: Target, folder: Path, *arguments: str) -> None:
    """Install wheels of the target platform; nothing is built, so nothing of this machine."""
    tag = _WHEEL_TAGS[target.machine]
    platforms = [f"--platform=manylinux{glibc}_{tag}" for glibc in _GLIBC]
    command = [
        *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
        *("--target", str(folder), "--no-compile", "--only-binary=:all:", "--implementation=cp"),
        *(f"--python-version={target.python}", *platforms, *arguments),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BundlingError(
            f"pip could not install the packages for Python {target.python} on {target.machine}:\n"
            f"{done.stderr.strip()}"
        )


def _compiler(target: Target) -> str | None:
    """Find the target's Python on this machine, if there is one."""
    if target.python == Target.host().python:
        return sys.executable
    return shutil.which(f"python{target.python}")


def _files(folder: Path) -> list[Path]:
    """List the files of a folder that go into a bundle."""
    found: list[Path] = []
    for base, folders, names in os.walk(folder):
        left_out = _left_out(base, [*folders, *names])
        folders[:] = [name for name in folders if name not in left_out]
        found += [Path(base, name) for name in names if name not in left_out]
    return sorted(found)


def _left_out(folder: str, names: list[str]) -> set[str]:
    """Return those of the names in a folder that do not go into a bundle."""
    needless = _NEEDLESS.get(Path(folder).resolve(), frozenset())
    return {*_CACHED_OR_HIDDEN(folder, names), *needless}
