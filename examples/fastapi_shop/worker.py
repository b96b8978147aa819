"""Runs the jobs of the shop."""

from __future__ import annotations

from examples.fastapi_shop.orders import jobs
from ojs_aws import Worker

worker = Worker(jobs)
