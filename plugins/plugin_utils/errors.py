"""The form of every error: what is wrong, where, why it matters, what to do."""

from __future__ import annotations

from ..module_utils._base.errors import GroundupError

__all__ = ["GroundupError"]
