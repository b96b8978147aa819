"""Runs `ojs-aws local --auth` with more keys: some that are bound to a queue or a job type."""

from __future__ import annotations

from typing import Final
from unittest import mock

from ojs_aws.bootstrap import build_key_issuer
from ojs_aws.cli import main
from ojs_aws.config import Settings
from ojs_aws.domain.access import Scope
from ojs_aws.local import server
from ojs_aws.local.server import LocalServer

QUEUE: Final = "mine"
TYPE: Final = "mine.work"
BOUND: Final = {
    "read-only-queue": (Scope.READ_ONLY, [QUEUE], []),
    "operator-queue": (Scope.OPERATOR, [QUEUE], []),
    "operator-type": (Scope.OPERATOR, [], [TYPE]),
}
"""Scope, queues and types of the further keys, by their names."""


class ServerWithBounds(LocalServer):
    """Makes the keys of all scopes, and the bound ones."""

    def _make_keys(self, settings: Settings) -> None:
        super()._make_keys(settings)
        issuer = build_key_issuer(settings, self._dynamodb)
        for name, (scope, queues, types) in BOUND.items():
            self.keys[name] = issuer.create(name, [scope], queues=queues, types=types).text


if __name__ == "__main__":
    with mock.patch.object(server, "LocalServer", ServerWithBounds):
        main()
