"""What units of the seed may not do whose programs need no privilege at all."""

from __future__ import annotations

_TEXT = """\
CapabilityBoundingSet=
NoNewPrivileges=true
ProtectSystem=strict
ProtectHome=true
PrivateTmp=true
LockPersonality=true
RestrictAddressFamilies=%s
RestrictNamespaces=true
RestrictRealtime=true
RestrictSUIDSGID=true
SystemCallArchitectures=native
SystemCallFilter=@system-service
"""


def unprivileged(*families: str) -> str:
    """Return the lines of a unit's section [Service]; ``families`` of sockets, such as AF_INET, are all it may open."""
    return _TEXT % " ".join(families)
