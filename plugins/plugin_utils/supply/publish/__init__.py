"""Serving artifacts to a site."""
