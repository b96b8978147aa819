"""Runs the function that delivers the jobs of its queues to an HTTPS endpoint."""

from __future__ import annotations

import os
from typing import Final

from ojs_aws.worker.delivery import delivery_worker

handler: Final = delivery_worker(os.environ).lambda_handler
"""What Lambda calls."""
