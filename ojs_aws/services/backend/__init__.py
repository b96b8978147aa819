"""Puts the services of one deployment together, over any ports.

By who asks for them: each module beside this one holds the services of one kind of caller. Each
service is imported and made when it is first asked for, so that a function loads what its own
routes need and no more.
"""

from __future__ import annotations

from ojs_aws.services.backend.upkeep import UpkeepServices
from ojs_aws.services.backend.workers import WorkerServices


class Backend(WorkerServices, UpkeepServices):
    """Holds the services, ready to be called."""
