"""Describe the app to Django."""

from __future__ import annotations

from django.apps import AppConfig
from django.core import checks

from ojs_aws.contrib.django.checks import check_options
from ojs_aws.contrib.django.discovery import discover

CHECKS = "ojs"
"""The tag of the checks: ``manage.py check --tag ojs``."""


class OjsConfig(AppConfig):
    """Finds the jobs of the project, and checks its settings."""

    name = "ojs_aws.contrib.django"
    label = "ojs"
    verbose_name = "Open Job Spec"

    def ready(self) -> None:
        """Import ``jobs.py`` of each app; wrong settings are errors of the system check."""
        checks.register(check_options, CHECKS)
        discover()
