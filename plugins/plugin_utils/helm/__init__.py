"""Helm: render, compare, heal, upgrade."""
