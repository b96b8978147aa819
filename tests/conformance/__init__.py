"""Open Job Spec conformance over HTTP: a case runner, our own cases, and raw-bytes tests.

Everything here talks to a server by URL and imports nothing of ``ojs_aws``: the same cases judge
the local server, a deployed stack, or any other OJS backend.
"""
