#!/usr/bin/python
"""Drain, undrain or retire a storage host of Ceph, or replace one of its OSDs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ceph_member
short_description: Drain, undrain or retire a storage host of Ceph, or replace one of its OSDs
version_added: 0.1.0
description:
  - Asks Ceph before it removes anything (C(osd safe-to-destroy), C(osd ok-to-stop) and C(mon ok-to-rm)). Removes
    nothing that is needed unless O(force) accepts it.
  - Old copies are kept until the new ones are complete, so a drain never reduces the number of copies.
  - Run a killed call again to continue it.
options:
  verb:
    description:
      - V(drain) moves all data off the host's OSDs. It takes as long as copying does.
      - V(undrain) lets a drained host take data again.
      - V(retire) removes its OSDs, its monitor and its CRUSH location from the cluster.
      - V(replace) destroys the OSD O(osd) of this host and keeps its number. M(groundup.cloud.ceph_node) recreates it.
      - V(erase) changes nothing. It refuses a host on which the cluster has OSDs or a monitor.
    type: str
    choices: [drain, undrain, retire, replace, erase]
    required: true
  osd:
    description: Number of the OSD to replace.
    type: int
  here:
    description: >-
      Whether the module runs on the host itself. V(retire) then stops its daemons and removes their data; otherwise
      they must be stopped already.
    type: bool
    default: false
  force:
    description:
      - Risks to accept.
      - V(lost), for V(retire), loses data that only this host has.
      - V(copy), for V(replace), loses the copies on the OSD's disk.
    type: list
    elements: str
    choices: [lost, copy]
    default: []
  hardware:
    description: Hardware profile of the host, which names the disks of its OSDs. For V(replace).
    type: str
    default: ''
  ceph:
    description: The plan of the cluster, C(groundup_site.ceph).
    type: dict
    required: true
  keys:
    description: Ceph keys, by name of secret.
    type: dict
    required: true
  timeout:
    description: Seconds to wait for data to move.
    type: int
    default: 3600
attributes:
  check_mode:
    description: Predicts, and refuses what a run would refuse.
  diff_mode:
    description: The changes are lines, not files.
    support: none
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.host
"""

EXAMPLES = r"""
- name: Copy a host's data to the others
  groundup.cloud.ceph_member:
    verb: drain
    name: storage-2
    ceph: "{{ groundup_site.ceph }}"
    keys: "{{ dict(names | zip(query('groundup.cloud.secret', *names))) }}"
  delegate_to: storage-1
  vars:
    names: "{{ groundup_site.ceph.secrets }}"
"""

RETURN = r"""
changes:
  description: Changes made, or predicted in check mode, one line each.
  type: list
  elements: str
  returned: success
"""

from typing import Any

from ..module_utils._base.changes import Changes
from ..module_utils._base.errors import GroundupError
from ..module_utils._base.module import run_module
from ..module_utils._ceph import drain, flags, members, replace, retire
from ..module_utils._ceph.cluster import connected
from ..module_utils._ceph.model import ADMIN, entities, node, watching


def work(changes: Changes, given: dict[str, Any]) -> None:
    """Run the verb. Raises GroundupError."""
    name, ceph, force, timeout = given["name"], given["ceph"], given["force"], given["timeout"]
    if not name:
        raise GroundupError(
            "no machine is named",
            where=f"the variable {given['verb']}_machine",
            why=f"{given['verb']} takes one storage host at a time",
            remedy=f"-e {given['verb']}_machine=NAME",
        )
    if given["verb"] == "replace" and name not in ceph["locations"]:
        raise GroundupError(
            f"{name} is no storage host of this site",
            where="the variable replace_machine",
            why="an OSD is made anew as the site file says",
            remedy=f"-e replace_machine=NAME, one of {', '.join(ceph['locations'])}",
        )
    with connected(ADMIN, entities(given["keys"])[ADMIN], watching(ceph)) as cluster:
        if given["verb"] != "erase":
            flags.put_back(cluster, changes)  # a run of the layer may be refused until this verb has run
        if given["verb"] == "drain":
            drain.drain(cluster, changes, name, ceph=ceph, timeout=timeout)
        elif given["verb"] == "undrain":
            drain.undrain(cluster, changes, name, timeout=timeout)
        elif given["verb"] == "retire":
            retire.retire(cluster, changes, name, fsid=ceph["fsid"], here=given["here"], force=force)
        elif given["verb"] == "erase":
            members.refuse_erasure(cluster, name)
        else:
            replace.give_up(cluster, changes, node({**given, "packages": []}), given["osd"], force=force)


def main() -> None:
    """Read the options, run the verb, report."""
    run_module(
        {
            "verb": {"type": "str", "choices": ["drain", "undrain", "retire", "replace", "erase"], "required": True},
            "name": {"type": "str", "required": True},
            "osd": {"type": "int"},
            "here": {"type": "bool", "default": False},
            "force": {"type": "list", "elements": "str", "choices": ["lost", "copy"], "default": []},
            "hardware": {"type": "str", "default": ""},
            "ceph": {"type": "dict", "required": True},
            "keys": {"type": "dict", "required": True, "no_log": True},
            "timeout": {"type": "int", "default": 3600},
        },
        work,
        required_if=[("verb", "replace", ("osd", "hardware"))],
    )


if __name__ == "__main__":
    main()
