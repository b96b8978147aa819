"""Does the work of the timer: the sweep, the export and the repair."""
