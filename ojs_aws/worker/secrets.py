"""Gives handlers secrets by the names of variables: read at the start, and again on rotation."""

from __future__ import annotations

import functools
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

from ojs_aws.domain.errors import OjsError
from ojs_aws.topology import SECRETS

FRESH_S: Final = 300.0
"""For how long a value counts, in seconds: a rotated secret is known after that at the latest."""

_log = logging.getLogger(__name__)


class Secrets:
    """Holds the values of secrets, each for a while. Threads may share it."""

    def __init__(
        self,
        environ: Mapping[str, str],
        read: Callable[[str], str],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Read nothing yet.

        :param read: returns the value at an ARN.
        :raises ValueError: ``OJS_SECRETS`` is no JSON object of texts.
        """
        self._environ, self._read, self._monotonic = environ, read, monotonic
        self._arns = _arns(environ.get(SECRETS, ""))
        self._values: dict[str, tuple[str, float]] = {}
        self._lock = threading.Lock()

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the secrets that have an ARN."""
        return tuple(self._arns)

    def get(self, name: str, *, is_rotated: bool = False) -> str:
        """Return the value of a secret; see :func:`secret`."""
        arn = self._arns.get(name)
        if arn is None:
            if (value := self._environ.get(name)) is not None:
                return value
            raise KeyError(f"{name}: neither {SECRETS} names this secret, nor is it a variable.")
        with self._lock:
            known = self._values.get(name)
            if known and not is_rotated and self._monotonic() - known[1] < FRESH_S:
                return known[0]
            try:
                value = self._read(arn)
            except OjsError as problem:
                if known is None or is_rotated:
                    raise
                _log.warning("The secret %s is kept as it was: %s", name, problem)
                value = known[0]
            self._values[name] = value, self._monotonic()
            return value

    def read_all(self) -> None:
        """Read each secret that ``OJS_SECRETS`` names.

        :raises BackendError: one cannot be read.
        """
        for name in self._arns:
            self.get(name)


def secret(name: str, *, is_rotated: bool = False) -> str:
    """Return a secret of the worker: ``secret("DATABASE_URL")``.

    It was read when the worker started. After five minutes it is read again, so a rotated secret
    arrives without a deployment; if that fails, the value of before counts. Where no secret of that
    name was configured, the variable of the environment is meant: on your machine and in tests.

    :param is_rotated: read it now; for a handler that a database has just refused.
    :raises KeyError: neither a secret nor a variable has that name.
    :raises BackendError: it cannot be read.
    """
    return worker_secrets().get(name, is_rotated=is_rotated)


@functools.cache
def worker_secrets() -> Secrets:
    """Return the secrets that this process's environment names.

    :raises ValueError: ``OJS_SECRETS`` is no JSON object of texts.
    """

    def read(arn: str) -> str:
        from ojs_aws.bootstrap import secret_reader  # botocore

        return secret_reader().read(arn)

    return Secrets(os.environ, read)


def _arns(text: str) -> dict[str, str]:
    """Return the ARNs by their names.

    :raises ValueError: the text is something else.
    """
    if not text:
        return {}
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found.values()):
        raise ValueError(f"{SECRETS} is no JSON object of names and ARNs: {text[:80]!r}")
    return found
