"""Implements the operations on one job: PUSH, FETCH, ACK, FAIL, CANCEL, INFO."""
