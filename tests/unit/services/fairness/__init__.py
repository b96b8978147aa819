"""Tests of the places of fair queues."""
