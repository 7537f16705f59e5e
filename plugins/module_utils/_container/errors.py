"""The one error of this package."""

from __future__ import annotations


class LabError(Exception):
    """Something on this machine is not as a lab needs it. The text says what, where and what to do."""
