"""Timeouts, limits and consents of a rollout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """All times in seconds."""

    start_timeout: float = 1200.0  # from the upgrade of a release until its workloads are ready
    verify_timeout: float = 180.0  # until its service answers as it should
    hook_timeout: int = 1200  # one hook job; helm's own limit
    patience: float = 1.0  # factor on the patience of the rules: how long a hopeless sight is looked at
    lease: float = 60.0  # how long another controller waits for a run of which nothing is heard
    remove: tuple[str, ...] = ()  # releases to remove, that are no longer in the site file
    site_file: str = "SITE"  # as the operator would name it on a command line
    force: tuple[str, ...] = ()  # gate reasons that are accepted: "code" or "code:release"
    limits: Mapping[str, int] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)  # how long releases took before, by name
