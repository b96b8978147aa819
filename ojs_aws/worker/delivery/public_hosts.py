"""Connects to public addresses alone, for endpoints that somebody named at the API.

The address is checked when the connection is open, before a byte is sent: whatever the name of the
host means at another moment, no job reaches a private address or the metadata of the machine.
"""

from __future__ import annotations

import functools
import ipaddress
import socket
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import urllib3

CONNECTIONS: Final = 50
_EMBEDDING: Final = tuple(
    ipaddress.ip_network(each)
    for each in ("64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16")
)
"""Networks of IPv6 whose addresses stand for others of IPv4, which may be private."""


class PrivateAddressError(Exception):
    """Reports a host that has no public address."""


def is_public(address: str) -> bool:
    """Return whether an address is one of the public internet."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return is_public(str(found.ipv4_mapped))
        if any(found in network for network in _EMBEDDING):
            return False
    return found.is_global and not found.is_multicast


@functools.cache
def public_pools() -> urllib3.PoolManager:
    """Return what makes requests by HTTPS to public addresses; all endpoints may share it."""
    import urllib3
    from urllib3.connection import HTTPSConnection

    class PublicConnection(HTTPSConnection):
        def _new_conn(self) -> socket.socket:
            connected = super()._new_conn()
            address = str(connected.getpeername()[0])
            if not is_public(address):
                connected.close()
                raise PrivateAddressError(address)
            return connected

    class PublicPool(urllib3.HTTPSConnectionPool):
        ConnectionCls = PublicConnection

    pools = urllib3.PoolManager(maxsize=CONNECTIONS, retries=False)
    pools.pool_classes_by_scheme = {"https": PublicPool}
    return pools
