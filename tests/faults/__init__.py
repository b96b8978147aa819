"""Every AWS call of every operation spoiled in every way, under the real adapters."""
