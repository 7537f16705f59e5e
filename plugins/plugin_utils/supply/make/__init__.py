"""Build one artifact, or all missing ones."""
