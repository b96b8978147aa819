"""The bodies of requests as pydantic models: types and bounds, for validation and for OpenAPI.

Worker bodies are validated by them. Job envelopes are not: PUSH checks those itself, on the raw
text; their models describe them, with the very constants that PUSH checks by.

A module an area, each imported with the first request that needs it: pydantic would cost every
cold start 0.1 s.
"""
