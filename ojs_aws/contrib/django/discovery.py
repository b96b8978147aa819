"""Find the jobs of all installed apps: each ``Jobs`` in their modules ``jobs.py``."""

from __future__ import annotations

import sys

from django.apps import apps
from django.utils.module_loading import autodiscover_modules

from ojs_aws.contrib.django.options import make_enqueuing_client
from ojs_aws.typed_jobs.clients import FROM_ENVIRONMENT
from ojs_aws.typed_jobs.jobs import Jobs

MODULE = "jobs"


def discover() -> None:
    """Import ``jobs.py`` of each app, and send its jobs to the server of the setting ``OJS``.

    What an application has configured itself stays.
    """
    autodiscover_modules(MODULE)
    for jobs in discovered():
        if jobs.clients is FROM_ENVIRONMENT:
            jobs.configure(make_enqueuing_client)


def discovered() -> list[Jobs]:
    """Return each ``Jobs`` that a module ``jobs.py`` of an installed app has, once."""
    found: dict[int, Jobs] = {}
    for config in apps.get_app_configs():
        module = sys.modules.get(f"{config.name}.{MODULE}")
        for value in vars(module).values() if module else ():
            if isinstance(value, Jobs):
                found[id(value)] = value
    return list(found.values())
