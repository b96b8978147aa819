"""What to tell somebody who uses a middleware without the packages that it needs."""

from __future__ import annotations


def missing_extra(who: str, extra: str) -> ImportError:
    """The error of a middleware whose packages are not installed.

    :param who: the class that was to be made.
    :param extra: the extra of this package that brings them.
    """
    return ImportError(
        f"{who} needs packages that are not installed: pip install 'ojs-aws[{extra}]'."
    )
