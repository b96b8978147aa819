"""The producer function."""
