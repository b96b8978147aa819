"""Keeps functions ready before they are invoked: SnapStart, or provisioned concurrency."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from aws_cdk import Annotations
from aws_cdk import aws_lambda as lambda_

from ojs_aws.cdk.bundle import Target

LIVE: Final = "live"
"""Name of the alias that is called."""

_SNAP_START_SINCE: Final = (3, 12)


@dataclass(frozen=True, slots=True)
class SnapStart:
    """Begin from a snapshot of the initialised function, instead of initialising it.

    AWS bills the cached snapshot of each published version, and each time it is restored.
    """


@dataclass(frozen=True, slots=True)
class Provisioned:
    """Keep some execution environments initialised; AWS bills them whether they work or not.

    :ivar executions: of each function, 1 at least.
    """

    executions: int = 1


WarmStart = SnapStart | Provisioned

_UNPUBLISHED: Final = "@aws-cdk/aws-lambda:snapStartRequirePublish"
"""CDK's warning, which it gives for every function that has SnapStart."""


def check_start(start: WarmStart | None, target: Target) -> None:
    """Refuse at synthesis what AWS would refuse in the middle of a deployment.

    :raises ValueError: the runtime has no SnapStart, or nothing would be provisioned.
    """
    version = tuple(int(part) for part in target.python.split("."))
    if isinstance(start, SnapStart) and version < _SNAP_START_SINCE:
        raise ValueError(f"SnapStart needs Python 3.12 or newer; the target is {target.python}.")
    if isinstance(start, Provisioned) and start.executions < 1:
        raise ValueError(f"Provisioned needs 1 execution at least; it is {start.executions}.")


def live_of(function: lambda_.Function, start: WarmStart | None) -> lambda_.IFunction:
    """Return what to invoke: the function, or the alias of its newest version that starts warm."""
    if start is None:
        return function
    if isinstance(start, SnapStart):
        Annotations.of(function).acknowledge_warning(_UNPUBLISHED, "The alias publishes versions.")
    executions = start.executions if isinstance(start, Provisioned) else None
    return lambda_.Alias(
        function,
        "Live",
        alias_name=LIVE,
        version=function.current_version,
        provisioned_concurrent_executions=executions,
    )
