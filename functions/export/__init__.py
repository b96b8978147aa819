"""The export function."""
