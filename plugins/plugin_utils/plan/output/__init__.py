"""Output of the plan: text, JSON, pictures, defaults."""
