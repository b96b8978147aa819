"""The emulator, which is stricter than moto: key types, numbers, item sizes, transactions."""

from __future__ import annotations

import os
import urllib.request
from collections.abc import Iterator

import pytest

from infra.emulator import Emulator, start_emulator
from tests.aws import EmbeddedAws, KeptClients, clients_of_emulator, emulated
from tests.load import HUNG_S


@pytest.fixture(scope="session")
def emulator() -> Iterator[Emulator]:
    """An emulator of our own."""
    running = start_emulator(os.environ)
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="session")
def emulator_clients(emulator: Emulator) -> Iterator[KeptClients]:
    """Clients of the emulator."""
    with clients_of_emulator(emulator.client_settings()) as clients:
        yield clients


@pytest.fixture
def emulated_aws(emulator: Emulator, emulator_clients: KeptClients) -> Iterator[EmbeddedAws]:
    """An emulator with nothing in it but what a deployment creates."""
    request = urllib.request.Request(f"{emulator.endpoint_url}/_ministack/reset", method="POST")  # noqa: S310
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    direct.open(request, timeout=HUNG_S).close()
    with emulated(emulator_clients) as aws:
        yield aws
