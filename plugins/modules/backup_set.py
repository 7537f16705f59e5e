#!/usr/bin/python
"""Save a site's cluster and databases as one sealed set, test that it restores, verify its age, open it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: backup_set
short_description: Save a site's cluster and databases as one sealed set, and test that it restores
version_added: 0.2.0
description:
  - "Private: for the playbooks C(groundup.cloud.backup) and C(groundup.cloud.backup_open)."
  - A set is a directory named by its time, with C(set.json) and one encrypted file a part. Parts are C(kubernetes-keys)
    (C(/etc/kubernetes/pki) and the key of Secrets at rest), C(state) (the site's state directory and site file), C(ovn)
    (the northbound database), C(seed), C(ceph) (maps, keys and configuration), C(rabbitmq) (definitions),
    C(openstack-keys) (Keystone's repositories, Barbican's key), C(mariadb), and C(etcd). A site has those of what it
    runs.
  - Parts are encrypted while they are read, with a key that the password of the secrets store opens. A killed run
    leaves nothing that looks like a set, and the next one removes its remains.
options:
  step:
    description:
      - V(hand), on a control host, a monitor's host or the seed, hands over the parts that the host has (RV(parts)), or
        says why it cannot (RV(refused)). V(take), on the control node, saves a set with what hosts handed over
        (variable C(backup_said)). In check mode no content is read; RV(found) lists each source.
      - V(test) opens all parts of O(source), restores etcd into a process on the control node and MariaDB into a
        scratch pod, and compares what they hold with the set. It touches nothing that runs.
      - V(upload) copies the newest set to the bucket of C(backups.s3), and removes old ones there; without a bucket it
        does nothing.
      - V(verify) reads the newest set. It fails when the set is damaged, too old, of another site, or failed its test.
      - V(open) decrypts O(parts) of O(source) into the new directory O(into). Only the password is needed, no store;
        for a set in the bucket also the keys of it.
      - V(timer) installs or removes the systemd timer of C(backups.schedule) on the control node.
    type: str
    choices: [hand, take, test, upload, verify, open, timer]
    required: true
  directory:
    description: Directory of the sets. Default is C(backups.directory) of the site file, else the state directory.
    type: str
    default: ""
  keep:
    description:
      - Number of sets to keep, beside the newest that passed its restore test. V(0) keeps all. Default is
        C(backups.keep) of the site file.
    type: int
  days:
    description: Maximum age of the newest set, in days.
    type: float
    default: 2.0
  source:
    description: A set, as its name, V(newest), its path, or C(s3:) and its name in the bucket, for V(step=open).
    type: str
    default: newest
  parts:
    description: Parts to open. Default is all.
    type: list
    elements: str
    default: []
  into:
    description: Directory to create, with mode 0700, for the content of O(parts).
    type: path
extends_documentation_fragment:
  - groundup.cloud.attributes.lines
  - groundup.cloud.site.file
"""

EXAMPLES = r"""
- name: Test that the newest set restores
  groundup.cloud.backup_set:
    site_file: "{{ groundup_site_file }}"
    step: test
"""

RETURN = r"""
parts:
  description: What the host hands over, by part.
  type: dict
  returned: with O(step=hand)
refused:
  description: Why the host does not hand over a part, by part.
  type: dict
  returned: with O(step=hand)
found:
  description: What a backup reads, with C(part), C(source) and C(what).
  type: list
  elements: dict
  returned: with O(step=take), in check mode
backup:
  description: Name, C(path), versions and counts of the set, and of each part its size, digest, time and source.
  type: dict
  returned: when there is one
tested:
  description: Result of the restore test, with C(state), C(time), C(seconds) and C(parts).
  type: dict
  returned: with O(step=test), and with O(step=verify) when there was one
opened:
  description: Paths of the decrypted files.
  type: list
  elements: str
  returned: with O(step=open)
changes:
  description: Changes made, or predicted in check mode, one line each.
  type: list
  elements: str
  returned: with O(step=take) and O(step=open)
"""

from ..module_utils._base.module import run_step
from ..module_utils._ceph import backup as ceph
from ..module_utils._ironic import backup as seed
from ..module_utils._kubeadm import keys
from ..module_utils._ovn import backup as ovn

# What a host hands over, by part.
PARTS = {"kubernetes-keys": keys.take, "ovn": ovn.take, "seed": seed.take, "ceph": ceph.take}
RULES = {"required_if": [("step", "open", ("into",))]}


def main() -> None:
    """Run the step."""
    ours = ("take", "test", "upload", "verify", "open", "timer")  # the action's
    run_step({"hand": lambda changes, given: PARTS[given["part"]](changes, given), **dict.fromkeys(ours)})


if __name__ == "__main__":
    main()
