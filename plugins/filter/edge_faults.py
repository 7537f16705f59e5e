"""Filter: what is wrong with the edge, from what each control host said."""

from __future__ import annotations

DOCUMENTATION = r"""
name: edge_faults
short_description: What is wrong with the edge of a site
version_added: 0.2.0
author: The groundup.cloud developers (@groundup-cloud)
description:
  - "Private: for the role P(groundup.cloud.edge#role) of the same collection."
  - Judges the results of P(groundup.cloud.edge#module) with C(step=verify) of all hosts of a play.
  - One control host holds the virtual IP, and each listener of HAProxy is open. In a run on some of the control hosts,
    another may hold it. Each HAProxy sends requests to every API server, unless checks say otherwise.
positional: hosts
options:
  _input:
    description: C(hostvars), with the result of each host as C(edge_state). A host without one was not asked.
    type: dict
    required: true
  hosts:
    description: Hosts of the play.
    type: list
    elements: str
    required: true
  control:
    description: All control hosts of the site.
    type: list
    elements: str
    required: true
  address:
    description: The virtual IP.
    type: str
    required: true
  public:
    description: The virtual IP for users, on a network of its own. Empty without one.
    type: str
    default: ""
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..module_utils._edge import servers


def edge_faults(
    variables: Mapping[str, Any], hosts: Sequence[str], *, control: Sequence[str], address: str, public: str = ""
) -> list[str]:
    """Return a sentence for each fault of the edge."""
    states = {host: variables[host]["edge_state"] for host in hosts if "edge_state" in variables[host]}
    others = set(control) - set(hosts)
    held = {"holds_address": address} | ({"holds_public": public} if public else {})
    faults = [fault for key, one in held.items() for fault in _held(states, key, others=others, address=one)]
    return [*faults, *_closed(states), *left_out(states)]


def _held(states: Mapping[str, Any], key: str, *, others: set[str], address: str) -> Iterator[str]:
    holders = sorted(host for host, state in states.items() if state[key])
    if len(holders) > 1:
        yield f"{address} is on {len(holders)} hosts: {', '.join(holders)}"
    if not holders and not others:
        yield f"no control host holds {address}"


def _closed(states: Mapping[str, Any]) -> Iterator[str]:
    for host, state in states.items():
        closed = sorted(name for name, status in state["listeners"].items() if status != "OPEN")
        if closed:
            yield f"{host}: HAProxy's listeners are not open: {', '.join(closed)}"


def left_out(states: Mapping[str, Any]) -> Iterator[str]:
    """Yield what hosts say of API servers that a killed run took out and never put back."""
    for host, state in states.items():
        if names := servers.out(state.get("servers", {})):
            yield f"edge-server-out: HAProxy of {host} sends nothing to the API server of {', '.join(names)}"


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"edge_faults": edge_faults}
