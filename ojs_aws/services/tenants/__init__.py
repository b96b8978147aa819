"""Shows what was counted of tenants."""
