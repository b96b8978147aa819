"""The EventBridge bus."""
