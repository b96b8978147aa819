"""The two middleware chains: around enqueueing, and around the execution of a handler.

``run`` shows how a job runs through either of them; ``enqueue`` and ``execution`` are the chains
with their own rules; ``enqueue_many`` is around a whole insertion.
"""
