"""Runs tests against a real server: the local one, in a process of its own."""

from ojs_aws.testing.server.child import ServerError
from ojs_aws.testing.server.server import OjsServer

__all__ = ["OjsServer", "ServerError"]
