"""Requests to endpoints that somebody registered reach public addresses alone."""

from __future__ import annotations

import socket
import threading

import pytest

from ojs_aws.domain.envelope import Job
from ojs_aws.middleware.context import JobContext
from ojs_aws.worker.delivery.answers import WrongEndpointError
from ojs_aws.worker.delivery.endpoint import HttpDelivery
from ojs_aws.worker.delivery.public_hosts import is_public, public_pools
from tests.load import HUNG_S


@pytest.mark.parametrize("address", ["8.8.8.8", "52.94.236.248", "2600:1f18::1"])
def test_addresses_of_the_internet_are_public(address: str) -> None:
    """Of both versions."""
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "192.0.2.1"),
        *("169.254.169.254", "224.0.0.1", "239.1.1.1", "255.255.255.255"),
        *("::1", "::", "fe80::1%eth0", "fd00:ec2::254", "ff0e::1", "::ffff:10.0.0.1"),
        *("64:ff9b::a00:1", "64:ff9b:1::1", "2002:a00:1::1", "2001:0:a00:1::1"),
    ],
)
def test_addresses_of_networks_and_of_metadata_are_not(address: str) -> None:
    """Also those of IPv6 that stand for one of IPv4."""
    assert not is_public(address)


@pytest.mark.parametrize("host", ["127.0.0.1", "app.example.com"])
def test_7_2_no_byte_is_sent_to_a_private_address(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The endpoint is wrong: the job is given back, whatever its host meant a moment ago.

    Who owns a name may let it lead to a private address after it was registered (DNS rebinding).
    """
    own = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda _, *given: own("127.0.0.1", *given))
    got: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            connected, _ = server.accept()
            with connected:
                got.append(connected.recv(1024))

        listening = threading.Thread(target=accept, daemon=True)
        listening.start()
        url = f"https://{host}:{server.getsockname()[1]}/jobs"
        delivery = HttpDelivery(url, signing_keys=lambda: ["key"], pools=public_pools)
        with pytest.raises(WrongEndpointError, match="has a private address") as refused:
            delivery(JobContext(Job("email.send", [], id="01a21c99-0000-7000-8000-000000000001")))
        listening.join(HUNG_S)
    assert got == [b""]
    assert refused.value.reason == "has a private address (127.0.0.1)"
    assert refused.value.type == "UndeliveredError"


def test_plain_http_is_no_way_to_a_registered_endpoint() -> None:
    """The pools know HTTPS alone."""
    with pytest.raises(KeyError):
        public_pools().request("POST", "http://app.example.com/jobs")
