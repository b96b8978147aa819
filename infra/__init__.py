"""Holds this project's own CDK app and its deploy scripts; people import ``ojs_aws.cdk``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

CHECKOUT: Final = Path(__file__).resolve().parent.parent
"""The folder where the project's commands and tools are found."""
