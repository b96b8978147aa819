"""Injects every fault into every AWS call of every operation, under the real adapters."""
