"""Tests of ojs-aws."""
