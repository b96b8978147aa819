"""The areas of the client: typed methods over operations of the route table."""
