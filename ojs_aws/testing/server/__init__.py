"""Runs tests against a real server: the local one, in a process of its own.

That process imports this package, too, and must not wait for what only tests need.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ojs_aws.exports import lazy_exports

if TYPE_CHECKING:
    from ojs_aws.testing.server.processes import ServerError as ServerError
    from ojs_aws.testing.server.server import OjsServer as OjsServer
else:
    __getattr__, __dir__ = lazy_exports(__name__)
