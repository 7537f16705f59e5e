"""What can be rotated: one module a kind."""
