"""Carries requests and events to the services, and their answers back."""
