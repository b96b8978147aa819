"""Jobs in the table: codec, reads, conditional writes and lists."""
