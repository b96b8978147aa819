"""Warns at synthesis of functions that an emulator on this machine could not start."""

from __future__ import annotations

import os
from typing import Final

from aws_cdk import Annotations
from constructs import Construct

from ojs_aws.cdk.bundle import Target

WARNING: Final = "ojs-aws:foreign-target"
"""What acknowledges the warning, for an emulator that has a machine or a Python of its own."""


def warn_of_other_target(backend: Construct, target: Target) -> None:
    """Warn if ``AWS_ENDPOINT_URL`` names an emulator, and the code is for another machine."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL")
    if not endpoint or target == Target.HOST:
        return
    Annotations.of(backend).add_warning_v2(
        WARNING,
        f"The functions are made for {target}, but AWS_ENDPOINT_URL names an emulator "
        f"({endpoint}), and this machine has {Target.HOST}. An emulator that runs functions as its "
        "own processes cannot import them: the API answers 'Internal Server Error'. Leave target "
        "out, or say JobBackendProps(target=Target.HOST).",
    )
