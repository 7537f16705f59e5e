"""The plan as text, JSON, picture and reference."""
