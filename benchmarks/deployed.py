"""The stack on the emulator, for the benchmarks that need it: deployed once for all of them.

``python -m benchmarks`` deploys it with the first that asks, and names it to them in the
environment; a benchmark that runs by itself deploys its own. It takes half a minute of a quiet
machine. Nothing is destroyed: what an emulator holds is gone with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Self

from benchmarks.local_server import http_client

SHARED: Final = "BENCHMARKS_DEPLOYED"
"""Names the deployment that this process is to use."""


@dataclass(frozen=True, slots=True)
class Deployed:
    """The stack on a running emulator.

    :ivar url: of the API, up to ``/ojs/v1/``.
    :ivar emulator_pid: the emulator's process; the functions' processes are its children.
    """

    url: str
    emulator_pid: int

    def __str__(self) -> str:
        """As the environment has it."""
        return f"{self.emulator_pid} {self.url}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """The deployment that the environment names."""
        pid, _, url = text.partition(" ")
        return cls(url, int(pid))


@contextmanager
def deployed(environ: Mapping[str, str], say: Callable[[str], None]) -> Iterator[Deployed]:
    """The deployment that the environment names, or one of its own.

    :raises DeploymentError: the CDK, Node or the emulator failed, or is not there.
    """
    if shared := environ.get(SHARED):
        yield Deployed.parse(shared)
        return
    from infra.deployment import deploy  # noqa: PLC0415 - imports the CDK's side
    from infra.emulator import start_emulator  # noqa: PLC0415

    emulator = start_emulator(environ)
    try:
        url = f"{deploy(emulator, say).api_url}/ojs/v1/"
        with http_client(url, 1) as http:
            http.get("health")  # the first request starts a function
        yield Deployed(url, emulator.process.pid)
    finally:
        emulator.stop()
