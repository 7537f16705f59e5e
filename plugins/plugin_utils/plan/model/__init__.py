"""The site file as types: allowed values, defaults, and a description of each field."""

from __future__ import annotations

from .site import Site

__all__ = ["Site"]
