"""Unit tests of the conformance runner."""
