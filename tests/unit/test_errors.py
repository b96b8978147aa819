"""`ojs_aws.errors`: everything that people raise or catch."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

import ojs_aws

errors: Any = importlib.import_module("ojs_aws.errors")

INTERNAL = {
    "AlreadyStoredError",
    "AwsError",
    "BatchDecidedError",
    "BucketTakenError",
    "ConditionFailedError",
    "ConditionRefusedError",
    "EventTooLargeError",
    "ForeignWorkerError",
    "InterruptedHandlerError",
    "InvalidExpressionError",
    "InvalidItemError",
    "LogLostError",
    "HandlerMissingError",
    "NewerArgumentsError",
    "NotAdmittedError",
    "OutOfTimeError",
    "PrivateAddressError",
    "QueueIsFullError",
    "QueueMissingError",
    "RecordError",
    "RuntimeAnswerError",
    "SchemaTakenError",
    "StaleCronError",
    "StaleJobError",
    "StaleKeyError",
    "StaleSettingsError",
    "StaleWorkflowError",
    "StrayRecordError",
    "TargetError",
    "TooMuchWorkError",
    "TransactionTooLargeError",
    "UnreadableMessageError",
    "UnexpectedArgumentsError",
    "WrongEndpointError",
}
"""What parts of the backend raise for each other; no handler or caller meets it."""

ELSEWHERE = {
    "AppPathError",
    "BundleError",
    "CaseError",
    "NotSoError",
    "ResetError",
    "SkippedError",
    "StartError",
    "TimeOverError",
    "UnreachableError",
}
"""What only the constructs, the local server and commands raise, and show."""

APART = ("ojs_aws.cdk", "ojs_aws.contrib", "ojs_aws.testing", "ojs_aws.worker.delivery.function")
"""Packages that export their own errors, and a function that needs its environment."""


def classes() -> Iterator[type[BaseException]]:
    """Yield the exceptions of the package."""
    for module in pkgutil.walk_packages(ojs_aws.__path__, "ojs_aws."):
        if module.name.endswith("__main__") or module.name.startswith(APART):
            continue
        for each in vars(importlib.import_module(module.name)).values():
            is_own = inspect.isclass(each) and each.__module__ == module.name
            if is_own and issubclass(each, BaseException):
                yield each


def test_every_error_that_people_meet_is_exported() -> None:
    """A new one is either listed here as internal, or exported."""
    names = {each.__name__ for each in classes() if not each.__name__.startswith("_")}
    assert names - INTERNAL - ELSEWHERE == set(errors.__all__)


def test_each_name_is_the_class_itself() -> None:
    """And no second one of that name."""
    for name in errors.__all__:
        assert getattr(errors, name).__name__ == name


def test_the_module_has_no_other_names() -> None:
    """A misspelt one is an AttributeError; dir() lists the right ones."""
    with pytest.raises(AttributeError, match="SnozeError"):
        _ = errors.SnozeError
    assert set(errors.__all__) <= set(dir(errors))


def test_what_handlers_raise_has_one_base() -> None:
    for kind in ("RetryError", "SnoozeError", "DiscardError", "DeadLetterError", "PermanentError"):
        assert issubclass(getattr(errors, kind), errors.JobError)
