"""Verify services: `context` for each by its own record, `catalog` for the site as a whole."""
