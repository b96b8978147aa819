"""Runs the command ``ojs-aws``."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    from ojs_aws.cli.app import app  # so that importing the package stays cheap

    app()
