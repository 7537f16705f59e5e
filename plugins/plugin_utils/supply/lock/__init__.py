"""supply.lock: what every artifact is, and the key of its content."""
