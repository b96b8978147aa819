"""Finds what an earlier test began without ``with``, and did not end."""

from __future__ import annotations

import threading

from ojs_aws.client.transports.substitute import active_substitutes, deactivate
from ojs_aws.testing.place import Place


def left_over() -> list[Place]:
    """Return what this thread began without ``with`` and did not end, the oldest first."""
    own = threading.get_ident()
    return [
        each
        for each in active_substitutes()
        if isinstance(each, Place) and not each.has_block and each.thread == own
    ]


def refuse_left_over() -> None:
    """Fail where an earlier test left something active. It is ended, so that the next one passes.

    :raises RuntimeError: naming the line that began it.
    """
    if found := end_left_over():
        raise RuntimeError(found)


def end_left_over(known: frozenset[int] = frozenset()) -> str:
    """End what was left active, and return what to say about it; empty if there is nothing.

    :param known: the ids of objects that may stay.
    """
    places = [each for each in left_over() if id(each) not in known]
    for each in places:
        deactivate(each)
        each.close()
    if not places:
        return ""
    return (
        f"The Ojs of {places[0].begun_at} was begun without `with`, and never ended: later tests "
        "would use it, too. Use it as a context manager (`with Ojs.fake() as ojs:`, in unittest "
        "self.enterContext(Ojs.fake())), or call its restore() at the end, such as by "
        "self.addCleanup(ojs.restore)."
    )
