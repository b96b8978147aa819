"""A Celery app that has what a migration meets: odd signatures, names, limits and schedules."""
