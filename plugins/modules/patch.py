#!/usr/bin/python
"""What patching the operating system of hosts would change, host by host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: patch
short_description: Foretell an upgrade of the packages of hosts, and patch them one after the other
version_added: 0.2.0
description:
  - "Private: for the playbook C(groundup.cloud.patch) of the same collection."
  - Asks apt on each host what it would upgrade from the snapshot of packages that the site runs, or from the host's own
    sources. The package lists for it are fetched into a temporary directory. Nothing on the host changes.
  - A host that would reboot, or restart what carries the cloud, is emptied first. A record in the site's state
    directory says so until it serves again.
options:
  step:
    description:
      - V(look) asks the host. One that does not answer is a result, not an error.
      - V(report) prints what all hosts said, and the order of hosts. Without O(apply), when a host could not be asked,
        it ends as unreachable, so that Ansible's exit code is 4. V(close) does so at the end, and fails for hosts that
        were left out.
      - V(room) fails when more machines of a group would be missing with O(hosts) than may.
      - V(begin) records the maintenance of the host, cordons its node and evicts its pods. V(upgrade) upgrades packages
        and restarts units. V(serve) waits until the host serves again. V(end) has its node take pods, and removes the
        record. V(give_up) sets the host aside.
      - Of a control host. V(peer), led to each other one, says what the layers on O(host) lack. V(begin) fails unless
        nobody lacks anything. V(stand_down) hands over virtual IPs, OVN's databases and etcd, V(halt) ends API server
        and etcd before a reboot. V(serve) waits until they serve again, and V(end) for members in pods.
      - V(rest) sets C(noout) for the host's OSDs when all data have another copy. V(rise) waits until they are up with
        all their data, and clears it. The task is led to a storage host.
      - V(boot) says which boot of the host this is, V(spare) what other control hosts lack; V(stand_up) ends what
        V(stand_down) and V(halt) began. For the action.
    type: str
    choices: [look, report, room, peer, begin, stand_down, rest, upgrade, halt, serve, rise, end, give_up, close, boot,
      spare, stand_up]
    required: true
  hosts:
    description: Names of the hosts that were asked; with O(step=room), of the batch.
    type: list
    elements: str
    default: []
  host:
    description: Name of the control host that is asked. With O(step=peer).
    type: str
    default: ""
  peers:
    description: Results of V(peer), each with its C(item). With O(step=begin), of a control host that is emptied.
    type: list
    elements: dict
    default: []
  result:
    description: Name of the variable with what a host said to V(look).
    type: str
    default: patch_host
  groups:
    description: Steps of their own whose packages are upgraded, too, such as V(containers).
    type: list
    elements: str
    default: []
  timeout:
    description: Seconds for pods to leave, and for the host to serve again.
    type: int
    default: 900
  failure:
    description: Result of the task that failed. With O(step=give_up).
    type: dict
    default: {}
  resting:
    description: Whether a former run left the host in maintenance, and this one did not begin with it. With
      O(step=give_up).
    type: bool
    default: false
  output:
    description: What O(step=report) prints.
    type: str
    choices: [table, json]
    default: table
  path:
    description: File that gets the JSON document, too.
    type: path
  apply:
    description: Whether the hosts of C(order) are patched then. With O(step=report).
    type: bool
    default: false
extends_documentation_fragment:
  - groundup.cloud.attributes.lines
  - groundup.cloud.site.file
"""

RETURN = r"""
patch:
  description: The document that O(output=json) prints.
  type: dict
  returned: with O(step=report)
  contains:
    site:
      description: Name of the site.
      type: str
    time:
      description: When it was asked, in UTC.
      type: str
      sample: "2026-11-28T01:20:31+00:00"
    snapshots:
      description: By release of Debian, the path of the snapshot that the site runs.
      type: dict
      sample: {"13": packages-13/2026-11-28-3f9a0c1b}
    groups:
      description: Steps of their own that were asked for.
      type: list
      elements: str
    order:
      description: Hosts to patch, in order; those of one list at the same time.
      type: list
      elements: list
    emptied:
      description: Hosts that are emptied first.
      type: list
      elements: str
    left_out:
      description: Hosts that are not patched, each with the reason.
      type: dict
    maintenance:
      description: Hosts that a run left in maintenance.
      type: list
      elements: str
    hosts:
      description: By host, what it said.
      type: dict
"""

from typing import Any

from ..module_utils._base.changes import Changes
from ..module_utils._base.module import run_step
from ..module_utils._control import maintenance
from ..module_utils._host import foresight, patching

RULES = {"required_if": [("step", "report", ("hosts",)), ("step", "room", ("hosts",))]}


def _boot(_: Changes, __: dict[str, Any]) -> dict[str, Any]:
    return {"changed": False, "boot": foresight.boot()}


def main() -> None:
    run_step({
        "look": foresight.foretell, "report": None, "room": None, "peer": None, "begin": None,
        "stand_down": maintenance.stand_down, "rest": None, "upgrade": patching.upgrade, "halt": maintenance.halt,
        "serve": None, "rise": None, "end": None, "give_up": None, "close": None, "boot": _boot,
        "spare": maintenance.spare, "stand_up": maintenance.stand_up,
    })  # fmt: skip


if __name__ == "__main__":
    main()
