"""Uses of typed jobs that a type checker accepts, and mistakes that it must find."""
