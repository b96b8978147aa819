"""Defines the HTTP API: who may call it, its routes, and the gateway."""
