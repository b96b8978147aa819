"""Removes each guard of the code once, and sees that a test notices."""
