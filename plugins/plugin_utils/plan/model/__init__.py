"""The site file as types: what may be written, its defaults and one line of why for each field."""

from __future__ import annotations

from .site import Site

__all__ = ["Site"]
