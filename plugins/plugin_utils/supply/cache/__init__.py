"""Cache of artifacts, by content."""
