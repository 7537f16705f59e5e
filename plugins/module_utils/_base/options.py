"""Argument specs that several modules share; doc_fragments/ describes them."""

from __future__ import annotations

from typing import Any

BACKUP: dict[str, dict[str, Any]] = {
    "step": {"type": "str", "required": True, "choices": ["take", "verify", "check", "restore"]},
    "keep": {"type": "int", "default": 14},
    "days": {"type": "float", "default": 2.0},
    "source": {"type": "str", "default": "newest"},
    "content": {"type": "str", "default": "", "no_log": True},
}
