"""The handlers of the HTTP operations: a request in, an answer out, no HTTP framework between."""
