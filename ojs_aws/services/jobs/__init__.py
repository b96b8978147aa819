"""The operations on one job: PUSH, FETCH, ACK, FAIL, CANCEL, INFO, and what they share."""
