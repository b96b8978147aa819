"""Runs the command ``ojs-aws``."""

from __future__ import annotations


def main() -> None:
    """Run the command line. What stdout cannot write, such as emoji in ASCII, is escaped."""
    import io
    import sys

    from ojs_aws.cli.app import app  # so that importing the package stays cheap

    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    app()
