"""Filter: which hosts did the work of a backup."""

from __future__ import annotations

DOCUMENTATION = r"""
name: backup_leaders
short_description: Which hosts did the work of a backup
version_added: 0.2.0
author: The groundup.cloud developers (@groundup-cloud)
description:
  - "Private: for the playbooks C(groundup.cloud.network_backup) and C(groundup.cloud.network_restore)."
  - Reads the results of M(groundup.cloud.backup) of several hosts, C(backup_said). One of them must lead.
positional: hosts
options:
  _input:
    description: C(hostvars). A host without a result, or whose task failed, does not lead.
    type: dict
    required: true
  hosts:
    description: Names of the hosts.
    type: list
    elements: str
    required: true
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any


def backup_leaders(variables: Mapping[str, Any], hosts: Sequence[str]) -> list[str]:
    """Return the hosts that lead."""
    said = {host: variables[host]["backup_said"] for host in hosts if "backup_said" in variables[host]}
    return [host for host, result in said.items() if result.get("leader")]


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"backup_leaders": backup_leaders}
