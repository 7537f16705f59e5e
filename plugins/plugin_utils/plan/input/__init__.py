"""Reads and validates the site file."""
