"""Tests of the adapter for FastAPI."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # starlette wants another httpx
    from starlette.testclient import TestClient as TestClient
