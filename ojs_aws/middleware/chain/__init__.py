"""Run jobs through middleware, around enqueueing and around the execution of a handler.

Start with ``run``: it shows how a job runs through any chain. ``enqueue`` and ``execution`` are the
two chains, with their own rules. ``enqueue_many`` runs middleware around a whole insertion, and
``batch`` runs the chains of many jobs that are stored together.
"""
