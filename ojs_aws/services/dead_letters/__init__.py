"""Lists, replays and prunes the discarded jobs."""
