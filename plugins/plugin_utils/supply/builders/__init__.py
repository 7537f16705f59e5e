"""Builders of artifacts, one module each; see ``build/builder.py``."""
