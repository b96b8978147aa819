"""Lists the errors about who calls, and what they may do (HTTP binding, section 16)."""

from __future__ import annotations

from ojs_aws.domain.errors import OjsError


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
