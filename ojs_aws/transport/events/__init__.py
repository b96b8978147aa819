"""What reaches the system without being asked for over HTTP: the table's stream and the timer."""
