"""How requests and events reach the services, and how their answers leave."""
