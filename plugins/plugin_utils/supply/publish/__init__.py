"""Publish artifacts to a site's seed."""
