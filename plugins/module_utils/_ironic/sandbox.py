"""systemd sandbox of the seed's unprivileged services."""

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
    """Return sandbox lines for a unit's section [Service]; ``families``: allowed socket families, such as AF_INET."""
    return _TEXT % " ".join(families)
