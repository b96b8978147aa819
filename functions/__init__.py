"""Holds the Lambda entry points, one folder for each boundary of trust."""
