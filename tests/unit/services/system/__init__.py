"""Tests of the services of the whole deployment."""
