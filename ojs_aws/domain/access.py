"""Decides who may do what: permissions, scopes that bundle them, and a credential's bounds.

Implements ojs-security, section 7: the operations that can be authorised one by one (7.2), the
standard roles (7.3) with their matrix (7.5), and access by queue (7.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from ojs_aws.domain.credentials import Actor, AttemptBound, Credential, actor_of
from ojs_aws.domain.errors import OjsError

if TYPE_CHECKING:
    from ojs_aws.domain.job import JobRecord


class UnauthenticatedError(
    OjsError, code="unauthenticated", status=401, type="authentication_error"
):
    """Reports missing or invalid credentials; only the server's log says which.

    :ivar challenge: the ``WWW-Authenticate`` header (RFC 9110, section 11.6.1; RFC 6750, 3).
    """

    usual_hint = "Send 'Authorization: Bearer' and an API key; `ojs-aws keys create` makes one."

    @property
    def challenge(self) -> str:
        """Return how to authenticate; for refused credentials, what is wrong with them."""
        return 'Bearer realm="ojs"'


class InvalidTokenError(UnauthenticatedError):
    """Reports credentials that are not valid."""

    @property
    def challenge(self) -> str:
        """Return how to authenticate, with RFC 6750's ``invalid_token``."""
        return 'Bearer realm="ojs", error="invalid_token"'


class TokenExpiredError(InvalidTokenError, code="token_expired"):
    """Reports credentials that have expired."""

    usual_hint = "Make a new key with `ojs-aws keys create`, or renew the token."


class PermissionDeniedError(
    OjsError, code="permission_denied", status=403, type="authorization_error"
):
    """Reports that a known caller may not do this."""

    usual_hint = "Use credentials with the scope that 'details' name."


class Permission(StrEnum):
    """Names what an operation needs of its caller."""

    PUBLIC = "public"
    """Nothing: the operation answers everybody, unless the deployment closes it."""
    KNOWN = "known"
    """To be anybody who is known."""
    ENQUEUE = "enqueue"
    DEQUEUE = "dequeue"
    CANCEL = "cancel"
    INSPECT = "inspect"
    OPERATE = "operate"
    """To keep things running: pause and retry, quiet workers, manage cron jobs."""
    ADMIN = "admin"
    """To configure, and to remove what cannot be brought back."""


class Scope(StrEnum):
    """Names what a credential may be used for."""

    PRODUCER = "producer"
    WORKER = "worker"
    OPERATOR = "operator"
    READ_ONLY = "read-only"
    ADMIN = "admin"


_ALL: Final = frozenset(Permission)

GRANTS: Final[Mapping[Scope, frozenset[Permission]]] = {
    Scope.PRODUCER: frozenset({Permission.ENQUEUE}),
    Scope.WORKER: frozenset({Permission.DEQUEUE}),
    Scope.READ_ONLY: frozenset({Permission.INSPECT}),
    Scope.OPERATOR: frozenset(
        {Permission.ENQUEUE, Permission.CANCEL, Permission.INSPECT, Permission.OPERATE}
    ),
    Scope.ADMIN: _ALL,
}
"""What each scope allows, beside what everybody may who is known."""

_SESSION: Final = re.compile(
    r"(?P<role>iam:arn:[^:]*:sts::[^:]*:assumed-role/.+)/[^/]+", re.ASCII | re.DOTALL
)
"""The id of a caller that has assumed a role; what follows the role names the session."""

TOKEN_PREFIX: Final = "ojs_attempt_"  # noqa: S105 - what they begin with
"""Begins the tokens of attempts (``attempt_tokens.py``)."""
ATTEMPT: Final = "attempt:"
"""Begins the ids of their callers; the id of the job follows."""
_FREE: Final = frozenset({Permission.PUBLIC, Permission.KNOWN})


@dataclass(frozen=True, slots=True)
class View:
    """Says which queues and job types somebody may see.

    :ivar queues: names, or beginnings that end in ``*``; empty: all.
    :ivar types: the same for job types.
    :ivar tenant: the only tenant whose jobs they are; empty: of all tenants.
    """

    queues: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    tenant: str = ""

    def shows(self, queue: str, job_type: str | None = None, tenant: str = "") -> bool:
        """Return whether it includes a queue, and the job type if one is given.

        :param tenant: whose job it is. A view of one tenant includes nothing of which it is not
            known whose it is.
        """
        return self.tenant in ("", tenant) and self.shows_row(queue, job_type)

    def shows_job(self, job: JobRecord) -> bool:
        """Return whether it includes a job."""
        return self.shows(job.queue, job.type, job.tenant)

    def shows_row(self, queue: str, job_type: str | None = None) -> bool:
        """Return whether it may include a job of which the tenant is not known yet."""
        return _matches(self.queues, queue) and (job_type is None or self.shows_type(job_type))

    def shows_type(self, job_type: str) -> bool:
        """Return whether it includes a job type."""
        return _matches(self.types, job_type)


UNBOUND: Final = View()
"""What callers without bounds see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller(Credential):
    """Describes who makes a request, as the authorizer found it; nothing else reads it.

    :ivar id: of the credential, for logs and limits; empty for anybody where access is open.
    :ivar permissions: what it may do.
    :ivar attempt: the only attempt of a job that it may report on, and nothing else; None: none.
    """

    id: str = ""
    permissions: frozenset[Permission] = _ALL
    attempt: AttemptBound | None = None

    @property
    def principal(self) -> str:
        """Return who owns the credential; it stays the same when the credential is renewed.

        A rotated key keeps its id. The sessions of an IAM role count as that role, since each
        renewal of its credentials may begin another session. Empty where access is open.
        """
        role = _SESSION.fullmatch(self.id)
        return role["role"] if role else self.id

    @property
    def is_bound(self) -> bool:
        """Return whether it may use only some queues or job types, or jobs of one tenant."""
        return bool(self.queues or self.types or self.tenant)

    @property
    def actor(self) -> Actor:
        """Return who it is, for the changes that it makes."""
        return actor_of(self.id, self.name)

    @property
    def view(self) -> View:
        """Return what its bounds include."""
        return View(self.queues, self.types, self.tenant)

    def may(self, permission: Permission) -> bool:
        """Return whether the scopes allow an operation that needs this permission."""
        return permission in _FREE or permission in self.permissions

    def may_touch(self, queue: str, job_type: str | None = None, tenant: str = "") -> bool:
        """Return whether its bounds include a queue, and the job type and tenant if given."""
        return self.view.shows(queue, job_type, tenant)

    def check(self, permission: Permission, operation: str) -> None:
        """Refuse an operation that its scopes do not allow, or its token.

        :raises PermissionDeniedError: with the scopes that would.
        """
        if self.attempt is not None:
            self.attempt.check_operation(operation)
        if not self.may(permission):
            scopes = sorted(scope for scope, given in GRANTS.items() if permission in given)
            verb = "administer" if permission is Permission.ADMIN else permission
            raise PermissionDeniedError(
                f"These credentials may not {verb}: '{operation}' needs one of the scopes "
                f"{', '.join(scopes)}.",
                details={"operation": operation, "permission": permission, "scopes": [*scopes]},
                hint="Use credentials with such a scope, or have one added.",
            )

    def check_queue(self, queue: str, job_type: str | None = None, field: str = "queue") -> None:
        """Refuse a queue, or a job type, outside its bounds.

        :param field: where it stood, for the error.
        :raises PermissionDeniedError: naming what was asked for, never what is allowed.
        """
        if not _matches(self.queues, queue):
            raise _outside("queue", queue, field)
        if job_type is not None:
            self.check_type(job_type, field.removesuffix("queue") + "type")

    def check_type(self, job_type: str, field: str = "type") -> None:
        """Refuse a job type outside its bounds.

        :param field: where it stood, for the error.
        :raises PermissionDeniedError: naming what was asked for, never what is allowed.
        """
        if not _matches(self.types, job_type):
            raise _outside("type", job_type, field)

    def check_unbound(self, operation: str) -> None:
        """Refuse a bound caller an operation that concerns more than single queues.

        :raises PermissionDeniedError: it is bound to queues or job types, or to a tenant.
        """
        if self.tenant:
            raise PermissionDeniedError(
                f"This request is for the tenant '{self.tenant}'; '{operation}' is about more.",
                details={"operation": operation, "tenant_id": self.tenant},
                hint="Leave out X-OJS-Tenant, and use credentials that are bound to no tenant.",
            )
        if self.is_bound:
            raise PermissionDeniedError(
                f"These credentials are bound to queues or job types; '{operation}' is about more.",
                details={"operation": operation},
                hint="Use credentials that are bound to nothing.",
            )

    def check_untyped(self, operation: str) -> None:
        """Refuse a caller that is bound to job types an operation on queues as a whole.

        :raises PermissionDeniedError: the credentials are bound to job types.
        """
        if self.types:
            raise PermissionDeniedError(
                f"These credentials are bound to job types; '{operation}' is about queues with all "
                "of their jobs.",
                details={"operation": operation},
                hint="Use credentials that are bound to queues alone, or to nothing.",
            )


ANYBODY: Final = Caller()
"""The caller where access is open: may do everything."""

NOBODY: Final = Caller(permissions=frozenset())
"""A caller without credentials: may do what is public."""


def permissions_of(scopes: Iterable[Scope]) -> frozenset[Permission]:
    """Return the permissions that some scopes grant together."""
    return frozenset(permission for scope in scopes for permission in GRANTS[scope])


def read_scopes(words: Iterable[str]) -> frozenset[Scope]:
    """Return the scopes that these words name; words that name none are ignored."""
    known = {str(scope) for scope in Scope}
    return frozenset(Scope(word) for word in words if word in known)


def matches(pattern: str, name: str) -> bool:
    """Return whether a pattern fits a name: the name itself, or its beginning followed by ``*``."""
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


def _matches(patterns: tuple[str, ...], name: str) -> bool:
    return not patterns or any(matches(pattern, name) for pattern in patterns)


def _outside(what: str, name: str, field: str) -> PermissionDeniedError:
    shown = name[:255]
    return PermissionDeniedError(
        f"These credentials are not for the {what} '{shown}'.",
        details={"field": field, what: shown},
        hint=f"Use credentials that are bound to this {what}, or to none.",
    )
