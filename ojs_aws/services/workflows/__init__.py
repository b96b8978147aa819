"""Creates workflows and advances them when their jobs end."""
