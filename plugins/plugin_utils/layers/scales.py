"""Scales: what the cloud's services take of a machine follows from its hardware."""

from __future__ import annotations

from typing import Literal

Scale = Literal["tiny", "small", "medium", "large"]

# The least cores and GiB of memory of the smallest machine that runs the cloud's services; the largest first.
SCALES: dict[Scale, tuple[int, int]] = {"large": (32, 256), "medium": (16, 128), "small": (8, 32), "tiny": (0, 0)}


def scale(cores: int, memory_gb: int) -> Scale:
    """Return the scale of services on machines with ``cores`` and ``memory_gb``."""
    return next(name for name, least in SCALES.items() if cores >= least[0] and memory_gb >= least[1])
