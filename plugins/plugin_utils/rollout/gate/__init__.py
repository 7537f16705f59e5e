"""What would change, and every reason against it."""
