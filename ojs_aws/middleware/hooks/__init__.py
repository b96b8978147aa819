"""Call functions at a moment of a job's life, without wrapping anything."""
