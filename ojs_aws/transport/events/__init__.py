"""Handles what reaches the system without HTTP: the table's stream and the timer."""
