"""Statistics of the whole deployment."""
