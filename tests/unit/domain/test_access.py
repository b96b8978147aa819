"""Scopes, permissions and bounds (ojs-security, section 7)."""

from __future__ import annotations

import pytest

from ojs_aws.domain.access import (
    GRANTS,
    Caller,
    Permission,
    PermissionDeniedError,
    Scope,
    permissions_of,
    read_scopes,
)

ENQUEUE, DEQUEUE, CANCEL = Permission.ENQUEUE, Permission.DEQUEUE, Permission.CANCEL
INSPECT, ADMIN = Permission.INSPECT, Permission.ADMIN

MATRIX = {
    Scope.PRODUCER: {ENQUEUE},
    Scope.WORKER: {DEQUEUE},
    Scope.READ_ONLY: {INSPECT},
    Scope.OPERATOR: {ENQUEUE, CANCEL, INSPECT},
    Scope.ADMIN: {ENQUEUE, DEQUEUE, CANCEL, INSPECT, ADMIN},
}


@pytest.mark.parametrize("scope", Scope)
def test_sec_007_scopes_allow_what_the_specification_s_matrix_says(scope: Scope) -> None:
    """Section 7.5, for each of the operations that must be authorised one by one (7.2)."""
    for permission in (ENQUEUE, DEQUEUE, CANCEL, INSPECT, ADMIN):
        assert (permission in GRANTS[scope]) == (permission in MATRIX[scope])


def test_scopes_add_up_and_unknown_words_are_nothing() -> None:
    """A token may hold scopes of others, too."""
    scopes = read_scopes(["producer", "read-only", "email", "Admin"])
    assert scopes == {Scope.PRODUCER, Scope.READ_ONLY}
    assert permissions_of(scopes) == {ENQUEUE, INSPECT}
    assert permissions_of([]) == frozenset()


def test_sec_006_bounds_hold_names_and_beginnings() -> None:
    """An exact name, or whatever begins with what stands before a star; none means all."""
    caller = Caller(queues=("email", "shop.*"), types=("email.send",))
    assert caller.may_touch("email", "email.send")
    assert caller.may_touch("shop.eu")
    assert not caller.may_touch("shop")
    assert not caller.may_touch("email2")
    assert not caller.may_touch("email", "email.sendall")
    assert Caller().may_touch("whatever", "whatever.else")


def test_a_refusal_names_what_was_asked_for_and_never_what_is_allowed() -> None:
    """A leaked key does not show its own bounds."""
    caller = Caller(permissions=frozenset({ENQUEUE}), queues=("secret-project",))
    with pytest.raises(PermissionDeniedError) as refused:
        caller.check_queue("other", field="jobs[2].queue")
    assert "secret-project" not in str(refused.value.as_dict())
    assert refused.value.details == {"field": "jobs[2].queue", "queue": "other"}
    with pytest.raises(PermissionDeniedError) as refused:
        caller.check(INSPECT, "info")
    assert refused.value.details["scopes"] == ["admin", "operator", "read-only"]


@pytest.mark.parametrize(
    ("caller_id", "principal"),
    [
        ("", ""),
        ("key:0123456789abcdef", "key:0123456789abcdef"),
        ("jwt:a:sts::1:assumed-role/r/s", "jwt:a:sts::1:assumed-role/r/s"),
        ("iam:arn:aws:iam::1:user/path/mailer", "iam:arn:aws:iam::1:user/path/mailer"),
        ("iam:arn:aws:sts::1:assumed-role/r/session-1", "iam:arn:aws:sts::1:assumed-role/r"),
    ],
)
def test_a_principal_stays_the_same_when_its_credentials_are_renewed(
    caller_id: str, principal: str
) -> None:
    """A key keeps its id; a role has a new session each time."""
    assert Caller(id=caller_id).principal == principal
