"""The entry point of the authorizer."""
