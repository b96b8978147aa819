"""Tests without AWS, HTTP or waiting; the tree mirrors the package."""
