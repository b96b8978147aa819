"""Defines constructs of workers: Lambda functions, ECS services, their network and capacity."""
