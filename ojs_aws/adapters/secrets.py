"""Reads secrets by their ARNs: from Secrets Manager, and from Parameter Store."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from ojs_aws.adapters.errors import translated
from ojs_aws.domain.errors import BackendError

_ARN_PARTS: Final = 7
"""``arn:partition:secretsmanager:region:account:secret:name``; what follows is ECS's notation."""


@dataclass(frozen=True, slots=True)
class SecretReader:
    """Reads the present value of a secret.

    :ivar client: makes the client of a service, by botocore's name.
    """

    client: Callable[[str], Any]

    def read(self, arn: str) -> str:
        """Return the value of a secret or parameter.

        :param arn: its ARN. ``:name::`` behind that of a secret means one member of its JSON, as
            in the task definitions of ECS.
        :raises BackendError: AWS refused, or there is no such member.
        """
        parts = arn.split(":")
        with translated("Reading a secret"):
            if parts[2:3] == ["ssm"]:
                found = self.client("ssm").get_parameter(Name=arn, WithDecryption=True)
                return str(found["Parameter"]["Value"])
            name, member = ":".join(parts[:_ARN_PARTS]), "".join(parts[_ARN_PARTS : _ARN_PARTS + 1])
            found = self.client("secretsmanager").get_secret_value(SecretId=name)
        if (text := found.get("SecretString")) is None:
            raise BackendError(f"The secret {name} is no text.")
        return _member(text, member, name) if member else str(text)


def _member(text: str, member: str, name: str) -> str:
    """Return a member of a secret that is a JSON object.

    :raises BackendError: it is none, or has no such member.
    """
    try:
        members = json.loads(text)
    except ValueError:
        members = None
    if not isinstance(members, dict) or member not in members:
        raise BackendError(f"The secret {name} has no member {member!r} in a JSON object.")
    value = members[member]
    return value if isinstance(value, str) else json.dumps(value)
