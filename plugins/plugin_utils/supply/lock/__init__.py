"""The model of supply.lock."""
