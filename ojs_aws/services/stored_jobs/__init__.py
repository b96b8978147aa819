"""What every feature does with stored jobs: read, change and list them, and wake workers."""
