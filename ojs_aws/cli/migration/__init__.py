"""Implements `ojs-aws migrate`: writes typed jobs for what other systems run."""
