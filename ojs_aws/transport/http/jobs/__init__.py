"""Serves jobs over HTTP: PUSH, INFO, CANCEL, FETCH, ACK, FAIL and BEAT."""
