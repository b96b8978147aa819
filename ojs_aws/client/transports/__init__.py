"""How the client reaches the backend: over HTTPS, or in this process; requests and answers."""
