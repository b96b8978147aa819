"""Runs ``python -m ojs_aws.cli``."""

from ojs_aws.cli import main

main()
