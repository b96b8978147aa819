"""Large documents in S3."""
