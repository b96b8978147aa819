"""Runs the AWS emulator ministack: one process of its own, with nothing of this machine in it.

It runs Lambda functions with its own interpreter, as processes, so functions for it are bundled
for :meth:`Emulator.target`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypedDict

from infra import CHECKOUT
from ojs_aws.cdk.bundle import Target

REGION: Final = "us-east-1"
ACCOUNT: Final = "000000000000"
ACCESS_KEY: Final = "test"
"""Id and secret of the emulator's root user: a name, not a secret."""

START_LIMIT_S: Final = 300.0
"""It starts in a second; on a machine that does much else, in many."""
STOP_LIMIT_S: Final = 5.0
_TRUSTING: Final = ("AWS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")
"""The variables by which the SDKs, Node, requests and OpenSSL find certificates to trust."""

_INHERITED: Final = ("PATH", "HOME", "LANG", "LC_ALL", "SYSTEMROOT")


class ClientSettings(TypedDict):
    """Lists what an AWS client needs to find the emulator."""

    endpoint_url: str
    verify: str | None
    region_name: str
    aws_access_key_id: str
    aws_secret_access_key: str


class EmulatorError(RuntimeError):
    """Says that the emulator is not installed or does not start, and what to do."""


@dataclass(frozen=True, slots=True)
class Emulator:
    """Holds a running emulator: use :func:`start_emulator`, and :meth:`stop` in the end.

    :ivar port: where it listens, on 127.0.0.1 only.
    :ivar folder: everything it writes, its log included.
    :ivar python: the interpreter that runs it and the functions.
    :ivar enforces_iam: whether functions can do only what their roles allow. It is then reached
        over TLS only, as AWS is: policies that refuse plain HTTP are enforced, too.
    """

    process: subprocess.Popen[bytes]
    port: int
    folder: Path
    python: Path
    enforces_iam: bool = False

    @property
    def endpoint_url(self) -> str:
        """Return the endpoint of all AWS services."""
        return f"{'https' if self.enforces_iam else 'http'}://127.0.0.1:{self.port}"

    @property
    def trusted(self) -> Path:
        """Return the file of the certificates to trust: the emulator's, and those of before."""
        return self.folder / "trusted.pem"

    def trust(self) -> dict[str, str]:
        """Return the variables by which programs trust the emulator; none where it has no TLS."""
        return dict.fromkeys(_TRUSTING, str(self.trusted)) if self.enforces_iam else {}

    @property
    def log(self) -> Path:
        """Return the log of the emulator and the functions."""
        return self.folder / "emulator.log"

    def target(self) -> Target:
        """Return the target of functions' bundles: this machine, and the emulator's own Python."""
        command = [str(self.python), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        version = subprocess.run(command, capture_output=True, text=True, check=True)
        return Target(Target.host().machine, version.stdout.strip())

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """Return an environment in which AWS tools talk to the emulator, and to nothing else."""
        kept = {name: value for name, value in base.items() if not name.startswith("AWS_")}
        if bundle := base.get("AWS_CA_BUNDLE"):
            kept["AWS_CA_BUNDLE"] = bundle
        hosts = [*kept.get("NO_PROXY", "").split(","), "127.0.0.1", "localhost"]
        no_proxy = ",".join(host for host in hosts if host)
        return {
            **kept,
            **self.trust(),
            "AWS_ENDPOINT_URL": self.endpoint_url,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": ACCESS_KEY,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
            "NO_PROXY": no_proxy,
            "no_proxy": no_proxy,
        }

    def client_settings(self) -> ClientSettings:
        """Return arguments for ``boto3.client`` with which it talks to the emulator."""
        return {
            "endpoint_url": self.endpoint_url,
            "verify": str(self.trusted) if self.enforces_iam else None,
            "region_name": REGION,
            "aws_access_key_id": ACCESS_KEY,
            "aws_secret_access_key": ACCESS_KEY,
        }

    def api_url(self, deployed_url: str) -> str:
        """Return where an HTTP API of the emulator answers, by names that this machine resolves.

        :param deployed_url: its URL as the stack's output has it, ``https://<id>.execute-api...``.
        """
        api_id = deployed_url.split("//", 1)[-1].split(".", 1)[0]
        return f"{self.endpoint_url}/_aws/execute-api/{api_id}/$default"

    def function_url(self, deployed_url: str) -> str:
        """Return where a function URL answers, by names that this machine resolves.

        :param deployed_url: as the stack's output has it, ``https://<id>.lambda-url...``.
        """
        url_id = deployed_url.split("//", 1)[-1].split(".", 1)[0]
        return f"{self.endpoint_url}/_aws/lambda-url/{url_id}"

    def stop(self) -> None:
        """End the emulator and the functions it runs, and remove what it wrote."""
        for sent in (signal.SIGTERM, signal.SIGKILL):
            # It leads a session of its own: the functions are in its process group.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, sent)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(STOP_LIMIT_S)
        shutil.rmtree(self.folder, ignore_errors=True)


def find_ministack(environ: Mapping[str, str]) -> Path:
    """Find the emulator: what ``MINISTACK`` names, or what ``make emulator`` installed.

    :raises EmulatorError: it is not there.
    """
    path = Path(environ.get("MINISTACK") or CHECKOUT / ".venv-emulator" / "bin" / "ministack")
    if not path.exists():
        raise EmulatorError(f"The AWS emulator is not installed ({path}): run `make emulator`.")
    return path


def start_emulator(environ: Mapping[str, str], *, enforces_iam: bool = False) -> Emulator:
    """Start the emulator on a free port and wait until it answers.

    :param environ: where to find it, and the search path.
    :param enforces_iam: let functions do only what their roles allow.
    :raises EmulatorError: it is not installed, or does not answer in time.
    """
    program = find_ministack(environ)
    folder = Path(tempfile.mkdtemp(prefix="ojs-emulator-"))
    (folder / "tmp").mkdir()
    port = _free_port()
    kept = {name: environ[name] for name in _INHERITED if name in environ}
    settings = {
        "GATEWAY_PORT": str(port),
        "BIND_HOST": "127.0.0.1",
        "IOT_MTLS_ENABLED": "0",
        "TMPDIR": str(folder / "tmp"),
        "AUTH": "true" if enforces_iam else "false",
        "USE_SSL": "1" if enforces_iam else "0",
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": ACCESS_KEY,
        "AWS_DEFAULT_REGION": REGION,
    }
    with (folder / "emulator.log").open("wb") as log:
        process = subprocess.Popen(
            [str(program)],
            cwd=folder,
            env=kept | settings,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    emulator = Emulator(process, port, folder, program.with_name("python"), enforces_iam)
    try:
        _wait_until_healthy(emulator, environ)
    except BaseException:
        emulator.stop()
        raise
    return emulator


def _wait_until_healthy(emulator: Emulator, environ: Mapping[str, str]) -> None:
    give_up_at = time.monotonic() + START_LIMIT_S
    while time.monotonic() < give_up_at:
        if emulator.process.poll() is not None:
            raise EmulatorError(f"The emulator ended at once:\n{tail(emulator.log)}")
        with contextlib.suppress(urllib.error.URLError, OSError):  # or no certificate yet
            _ask(emulator, environ)
            return
        time.sleep(0.1)
    raise EmulatorError(
        f"The emulator did not answer within {START_LIMIT_S:.0f} s:\n{tail(emulator.log)}"
    )


def _ask(emulator: Emulator, environ: Mapping[str, str]) -> None:
    handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
    if emulator.enforces_iam:
        _trust(emulator, environ)
        context = ssl.create_default_context(cafile=emulator.trusted)
        handlers.append(urllib.request.HTTPSHandler(context=context))
    opener = urllib.request.build_opener(*handlers)
    opener.open(f"{emulator.endpoint_url}/_ministack/health", timeout=2).close()


def _trust(emulator: Emulator, environ: Mapping[str, str]) -> None:
    """Write the file of trusted certificates: the emulator's own, and all that were trusted."""
    before = {environ.get(name, "") for name in _TRUSTING}
    before.add(ssl.get_default_verify_paths().cafile or "")
    made = emulator.folder / "tmp" / "ministack-tls" / "server.crt"
    files = [made, *(Path(name) for name in sorted(before) if name and Path(name).is_file())]
    emulator.trusted.write_text("\n".join(each.read_text("utf-8") for each in files), "utf-8")


def tail(path: Path, lines: int = 30) -> str:
    """Return the last lines of a log."""
    if not path.exists():
        return ""
    return "\n".join(path.read_text("utf-8", "replace").splitlines()[-lines:])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
