"""Kubernetes quantities: "10Gi", "500M", "1e3"."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import Any

_UNITS = {
    "": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15,
    "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50,
}  # fmt: skip


def in_bytes(quantity: Any) -> Decimal:
    """Return a storage quantity in bytes. Raises ValueError for what is none."""
    text = str(quantity).strip()
    number = text.rstrip("kKMGTPi")
    unit = text[len(number) :]
    try:
        return Decimal(number) * _UNITS[unit]
    except (InvalidOperation, KeyError) as error:
        units = ", ".join(filter(None, _UNITS))
        raise ValueError(f"'{quantity}' is no quantity: write a number and one of {units}") from error
