#!/usr/bin/python
"""Drains a storage host, has it take data again, takes it out of the cluster, or replaces one of its OSDs."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ceph_member
short_description: Drain, undrain or retire a storage host of Ceph, or replace one of its OSDs
version_added: 0.1.0
description:
  - Ceph itself is asked before anything is taken away, C(osd safe-to-destroy), C(osd ok-to-stop) and
    C(mon ok-to-rm). Without a consent in O(force), nothing leaves that is needed.
  - Old copies serve until new ones are whole, so a drain leaves no data with fewer copies.
  - A call that was killed is made again and goes on.
options:
  verb:
    description:
      - With V(drain) the OSDs of the host give up all they hold. It takes as long as the copies do.
      - With V(undrain) a host that was drained so takes data again.
      - With V(retire) its OSDs, its monitor and its place leave the cluster.
      - With V(replace) the OSD O(osd) of this host is destroyed and its number kept.
        M(groundup.cloud.ceph_node) makes it anew.
      - With V(erase) nothing is changed. A host that the cluster has OSDs or a monitor on is refused.
    type: str
    choices: [drain, undrain, retire, replace, erase]
    required: true
  osd:
    description: Number of the OSD to replace.
    type: int
  here:
    description: >-
      Whether this is the host itself. Then V(retire) stops its daemons and removes their data. Otherwise they must
      not run.
    type: bool
    default: false
  force:
    description:
      - Reasons that are accepted.
      - V(lost), for V(retire), gives up what is only on the host.
      - V(copy), for V(replace), gives up the copies that the OSD's disk holds.
    type: list
    elements: str
    choices: [lost, copy]
    default: []
  hardware:
    description: Hardware profile of the host, which says what its OSDs are on. For V(replace).
    type: str
    default: ''
  ceph:
    description: The plan of the cluster, C(groundup_site.ceph).
    type: dict
    required: true
  keys:
    description: Keys by name of secret.
    type: dict
    required: true
  timeout:
    description: Seconds for data to be where they are to be.
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
  description: What was done, or in check mode would be, a line each.
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
    """Do the verb. Raises GroundupError."""
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
            flags.put_back(cluster, changes)  # a run of the layer may be refused before, until this verb was run
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
    """Read the options, do the verb, report."""
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
