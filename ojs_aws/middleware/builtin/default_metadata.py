"""Add the metadata that every job should have (middleware specification, section 3.6)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import TypeAlias

from ojs_aws.domain.envelope import Job
from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.native_json import check_native
from ojs_aws.middleware.protocols import EnqueueNext

MetaValue: TypeAlias = "JsonValue | Callable[[Job], JsonValue]"
"""A value, or a function that gives it for a job; None from a function leaves the key out."""


class DefaultMetadataMiddleware:
    """Adds the keys that a job lacks to its ``meta``. Keys that are there stay as they are.

    Either all missing keys are added or, when a function fails, none.
    """

    never_waits = True

    def __init__(self, defaults: Mapping[str, MetaValue], *, overwrite: bool = False) -> None:
        """Add these keys.

        :param defaults: JSON values, or functions of the job that return one.
        :param overwrite: replace what a job has under these keys.
        :raises InvalidPayloadError: a value that JSON does not have.
        """
        check_native(dict.fromkeys(defaults), "defaults")
        for key, value in defaults.items():
            if not callable(value):
                check_native(value, f"defaults.{key}")
        self._defaults = {
            key: value if callable(value) else copy.deepcopy(value)
            for key, value in defaults.items()
        }
        self._overwrites = overwrite

    async def enqueue(self, job: Job, call_next: EnqueueNext) -> Job | None:
        """Pass the job on with the metadata added.

        :raises InvalidPayloadError: a function returned what JSON does not have.
        :raises Exception: whatever a function raised.
        """
        meta = job.get("meta")
        if meta is not None and not isinstance(meta, dict):
            return await call_next(job)  # whoever stores it says what is wrong with it
        added: dict[str, JsonValue] = {}
        for key, default in self._defaults.items():
            if meta and key in meta and not self._overwrites:
                continue
            if callable(default):
                value = default(job)
                check_native(value, f"meta.{key}")
                if value is None:
                    continue
            else:
                value = copy.deepcopy(default)
            added[key] = value
        if added:
            job.meta.update(added)
        return await call_next(job)
