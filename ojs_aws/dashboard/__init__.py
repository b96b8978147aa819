"""Holds the dashboard: a page of static files, which asks the public HTTP API and nothing else.

``static/`` is what is served; ``make dashboard`` builds it from ``web/``. Both are in the
repository, so that a machine with Python alone serves the page.
"""
