"""Checks the settings that a test gives to the local server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ojs_aws.config import describe_settings
from ojs_aws.testing.mistakes import nearest

PREFIX: Final = "OJS_"


def checked_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings, as environment variables of the server.

    :raises TypeError: a value is no string, as it would be in the environment.
    :raises ValueError: the backend has no such setting.
    """
    known = [variable for variable, _, _ in describe_settings()]
    for name, value in settings.items():
        if name.startswith(PREFIX) and name not in known:
            raise ValueError(
                f"The backend has no setting {name}.{nearest(name, known)} "
                "The README lists all settings."
            )
        if not isinstance(value, str):
            raise TypeError(f"The setting {name} is a string: {str(value)!r}, not {value!r}.")
    return dict(settings)
