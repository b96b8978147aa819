"""The official OJS clients, driven unchanged against the local server and the deployed stack.

``python -m tests.clients`` builds each client from a check-out that an environment variable names,
runs a driver that makes its calls, and writes the table of docs/clients.md. Nothing of the clients
is kept here: drivers are programs of this project that use their public API.
"""
