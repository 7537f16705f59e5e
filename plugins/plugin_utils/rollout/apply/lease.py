"""The lease of a rollout: one at a time, from any control node."""

from __future__ import annotations

from functools import partial

from ...kube import held_lease
from ..types import RolloutError

NAME = "groundup-rollout"


class LeaseLostError(RolloutError):
    """Another run holds the rollout's lease, or may: nothing more is changed."""


_WORK = held_lease.Work(lease=NAME, called="rollout", refused=RolloutError, lost=LeaseLostError)
held = partial(held_lease.held, work=_WORK)
