"""AWS behind the ports: adapters translate and never decide."""
