"""Constructs of workers: Lambda functions and ECS services, their network and their scaling."""
