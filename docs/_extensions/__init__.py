"""What the site needs beyond Sphinx."""
