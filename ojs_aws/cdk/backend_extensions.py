"""Adds enqueue middleware and hooks of the users' own to the backend's functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from ojs_aws.cdk.bundle import BACKEND_SERVICES, Bundle

_ENQUEUES: Final = frozenset({"producer", "job_endpoint", "operator", "tick"})
"""The functions that enqueue jobs: for clients, by a trigger of a cron job, and by cron."""

_CALLS_HOOKS: Final = _ENQUEUES | {"stream"}
"""The functions that call hooks: at insertion, at the start of cron, and with events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendExtensions:
    """Name code that a function loads once, when it starts; it does not start without it.

    Example::

        BackendExtensions(
            code_dir=Path("backend_extensions"),       # holds policies.py, requirements.txt
            enqueue_middleware="policies:chain",       # an EnqueueChain
            hooks="policies:hooks",                    # Hooks
        )

    :ivar code_dir: folder of the modules; a ``requirements.txt`` in it is installed too, within the
        versions of the backend's own packages.
    :ivar enqueue_middleware: ``module:attribute`` of the EnqueueChain that PUSH runs; empty for the
        default chain.
    :ivar hooks: ``module:attribute`` of the Hooks; empty for none.
    :ivar aws_services: AWS services, by botocore's names, that this code uses beside DynamoDB, SQS,
        S3 and EventBridge. Grant the functions what it needs of them.
    """

    code_dir: Path
    enqueue_middleware: str = ""
    hooks: str = ""
    aws_services: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Refuse at synthesis what a function would refuse at its start.

        :raises ValueError: nothing is named, or a module that the folder does not have.
        """
        if not self.enqueue_middleware and not self.hooks:
            raise ValueError("Name enqueue_middleware or hooks: nothing else would be loaded.")
        for path in filter(None, (self.enqueue_middleware, self.hooks)):
            module = self.code_dir.joinpath(*path.partition(":")[0].split("."))
            if not module.with_suffix(".py").is_file() and not (module / "__init__.py").is_file():
                raise ValueError(f"{path!r} names no module in {self.code_dir}.")

    def bundled_with(self, bundle: Bundle, function: str) -> Bundle:
        """Return a function's bundle, with this code where the function loads it."""
        if function not in self._used_by():
            return bundle
        services = tuple(sorted({*BACKEND_SERVICES, *self.aws_services}))
        return replace(bundle, code_dir=self.code_dir, botocore_services=services)

    def environment(self, function: str) -> Mapping[str, str]:
        """Return the settings by which a function loads this code."""
        settings = {
            "OJS_ENQUEUE_MIDDLEWARE": self.enqueue_middleware if function in _ENQUEUES else "",
            "OJS_HOOKS": self.hooks if function in _CALLS_HOOKS else "",
        }
        return {name: value for name, value in settings.items() if value}

    def _used_by(self) -> frozenset[str]:
        enqueuing = _ENQUEUES if self.enqueue_middleware else frozenset()
        return enqueuing | (_CALLS_HOOKS if self.hooks else frozenset())
