"""Diagnose symptoms and make failure cards."""
