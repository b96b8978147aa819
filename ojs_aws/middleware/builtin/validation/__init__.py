"""Check the arguments of jobs against JSON Schemas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Schema: TypeAlias = Mapping[str, object] | bool
"""A JSON Schema (draft 2020-12) as data."""
