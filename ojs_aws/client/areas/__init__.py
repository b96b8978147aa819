"""Each area of the client has typed methods over operations of the route table."""
