"""Which release may start now, and what releases share."""
