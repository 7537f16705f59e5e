"""Artifacts kept by content."""
