"""The schema registry, and the validation of arguments."""
