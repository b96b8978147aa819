"""The requests of the transcript as data, one module for each feature."""
