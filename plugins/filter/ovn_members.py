"""Filter: which control hosts have OVN's databases, which have lost them, where northd is active."""

from __future__ import annotations

DOCUMENTATION = r"""
name: ovn_members
short_description: What control hosts said of OVN's databases
version_added: 0.2.0
author: The groundup.cloud developers (@groundup-cloud)
description:
  - "Private: for the role P(groundup.cloud.ovn_central#role) of the same collection."
  - Reads the results of P(groundup.cloud.ovn#module) of all hosts of a play, C(ovn_central_said) and
    C(ovn_central_state).
positional: hosts
options:
  _input:
    description: C(hostvars).
    type: dict
    required: true
  hosts:
    description: Hosts of the play.
    type: list
    elements: str
    required: true
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

DATABASES = ("nb", "sb")


def ovn_members(variables: Mapping[str, Any], hosts: Sequence[str]) -> dict[str, Any]:
    """Return answers by host, hosts that lack a database, their addresses by database, hosts with an active northd."""
    answers = {host: variables[host]["ovn_central_said"] for host in hosts if "ovn_central_said" in variables[host]}
    waits = {host: list(answer.get("waits") or ()) for host, answer in answers.items()}
    states = {host: variables[host]["ovn_central_state"] for host in hosts if "ovn_central_state" in variables[host]}
    return {
        "answers": answers,
        "waiting": [host for host in answers if waits[host]],
        "lost": {
            one: [variables[host]["groundup_host"]["address"] for host in answers if one in waits[host]]
            for one in DATABASES
        },
        "active": [host for host, state in states.items() if state.get("northd") == "active"],
    }


class FilterModule:
    def filters(self) -> dict[str, Callable[..., Any]]:
        return {"ovn_members": ovn_members}
