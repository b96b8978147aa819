"""Registers cron jobs and fires them."""
