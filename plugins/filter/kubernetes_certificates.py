"""Filter: days left of the certificates on control hosts."""

from __future__ import annotations

DOCUMENTATION = r"""
name: kubernetes_certificates
short_description: Days left of the certificates on control hosts
version_added: 0.2.0
author: The groundup.cloud developers (@groundup-cloud)
description:
  - "Private: for the role P(groundup.cloud.kubernetes#role) of the same collection."
  - Reads O(told), if control hosts were asked for their certificates. Else reads the results of
    P(groundup.cloud.node#module) of the same run, C(kubernetes_node), without hosts whose certificates were due. Those
    were renewed in this run.
positional: control
options:
  _input:
    description: C(hostvars).
    type: dict
    required: true
  control:
    description: All control hosts of the site.
    type: list
    elements: str
    required: true
  told:
    description: Results of P(groundup.cloud.node#module) with C(step=membership), one for each control host.
    type: list
    elements: dict
    required: true
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any


def kubernetes_certificates(
    variables: Mapping[str, Any], control: Sequence[str], *, told: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the days left of each certificate by control host."""
    if told:
        return {str(one["item"]): one["certificates"] for one in told if "certificates" in one}
    said = {host: variables[host].get("kubernetes_node", {}) for host in control}
    return {host: node["certificates"] for host, node in said.items() if node.get("due") == []}


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"kubernetes_certificates": kubernetes_certificates}
