"""Publishes to the EventBridge bus."""
