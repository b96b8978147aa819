"""Declares jobs as typed functions: what sends them and what runs them read one declaration."""
