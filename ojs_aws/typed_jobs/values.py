"""Choose how values of a declared type become JSON, and how JSON becomes such values again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ojs_aws.domain.errors import JsonValue
from ojs_aws.domain.json_text import Member
from ojs_aws.typed_jobs.plain_values import Check, plain_check


class Codec(Protocol):
    """Translates the values of one type. Both methods raise WrongValueError, naming the field."""

    def encode(self, value: object, field: str) -> JsonValue:
        """Return a value as JSON has it."""

    def decode(self, member: Member, field: str) -> object:
        """Return the value that some JSON stands for."""


@dataclass(frozen=True, slots=True)
class PlainCodec:
    """Carries values that JSON has as they are."""

    check: Check

    def encode(self, value: object, field: str) -> JsonValue:
        """Return the value, checked."""
        return self.check(value, field)

    def decode(self, member: Member, field: str) -> object:
        """Return the value, checked."""
        return self.check(member.value, field)


def codec_of(kind: object, place: str) -> Codec:
    """Return the codec of a type.

    :param kind: an annotation, with all names resolved.
    :param place: what has the type, for the message: ``the argument 'order' of send_email``.
    :raises RegistrationError: no JSON stands for values of this type.
    """
    check = plain_check(kind)
    if check is not None:
        return PlainCodec(check)
    from ojs_aws.typed_jobs.model_values import model_codec  # imports pydantic

    return model_codec(kind, place)
