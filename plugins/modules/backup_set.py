#!/usr/bin/python
"""Save a site's cluster and databases as one sealed set, test that it restores, verify its age, open it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: backup_set
short_description: Save a site's cluster and databases as one sealed set, and test that it restores
version_added: 0.2.0
description:
  - "Private: for the playbooks C(groundup.cloud.backup), C(groundup.cloud.backup_open) and C(groundup.cloud.restore)."
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
      - V(timer) installs or removes the systemd units of C(backups.schedule) and C(backups.logs_every) on the control
        node.
      - V(ship) copies the binary logs of MariaDB beside the sets, sealed, until the run is ended.
      - V(decide) refuses what must not be restored, and says what replaces what, and which control host does what;
        but in check mode it writes down that the restore is under way. V(end) writes down that it has ended.
      - V(etcd_look) says what a control host has of etcd. V(etcd_stop) ends its kubelet and control plane. V(etcd_put)
        puts the snapshot of O(source) in place there, and starts them. V(etcd_leave) clears the host, to join anew.
        V(keys_put) puts back Kubernetes' keys that are missing. What is replaced is set aside. On a host that has
        nothing of Kubernetes, V(keys_put) and V(etcd_put) start nothing, and P(groundup.cloud.node#module) initialises
        it with what they put there.
      - V(state) puts back the control node's state, V(mariadb) the databases, V(services) Keystone's
        key repositories and RabbitMQ's definitions. V(restart) restarts what watches
        Kubernetes. V(compare) lists RV(differences) of the cloud's databases from what is there.
    type: str
    choices:
      - hand
      - take
      - test
      - upload
      - verify
      - open
      - timer
      - ship
      - decide
      - state
      - restart
      - services
      - mariadb
      - compare
      - end
      - keys_put
      - etcd_look
      - etcd_stop
      - etcd_put
      - etcd_leave
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
    description: Maximum age of the newest set, or of the one that is restored, in days.
    type: float
    default: 2.0
  source:
    description: A set, as its name, V(newest), its path, or C(s3:) and its name in the bucket, to open or restore it.
    type: str
    default: newest
  until:
    description:
      - Time to which the binary logs that follow the set are replayed, such as V(2026-11-28T14:05:00Z); what was
        committed from it on is left out. V(set) restores the set alone. Default is all that were copied.
    type: str
    default: ""
  seconds:
    description: Seconds after which V(step=ship) ends. V(0) never.
    type: float
    default: 0
  parts:
    description: Parts to open, or to restore. Default is all.
    type: list
    elements: str
    default: []
  into:
    description: Directory to create, with mode 0700, for the content of O(parts).
    type: path
  force:
    description: Risks of a restore to accept.
    type: list
    elements: str
    choices:
      - overwrite
      - outdated
      - mixed-times
      - other-secrets
      - control-host-away
      - member-away
      - unknown-networks
      - run-gone
    default: []
  answers:
    description: Results of V(etcd_look), by control host. With O(step=decide).
    type: dict
    default: {}
  restore:
    description: Name of the restore, RV(restore).
    type: str
    default: ""
  api:
    description: URL of the host's own API server. With O(step=etcd_put).
    type: str
    default: ""
  domains:
    description: Results of C(virsh list), by hypervisor. With O(step=compare).
    type: dict
    default: {}
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
table:
  description: What replaces what, with C(part), C(now) and C(set).
  type: list
  elements: dict
  returned: with O(step=decide)
steps:
  description: What is done with control hosts, a line each.
  type: list
  elements: str
  returned: with O(step=decide)
keyed:
  description: Hosts that get the missing keys of Kubernetes.
  type: list
  elements: str
  returned: with O(step=decide)
restore:
  description: Name of the restore, its time. Empty in check mode.
  type: str
  returned: with O(step=decide)
set:
  description: Path of the set.
  type: str
  returned: with O(step=decide)
target:
  description: Control host on which etcd is restored.
  type: str
  returned: with O(step=decide)
stops:
  description: Control hosts whose etcd ends before.
  type: list
  elements: str
  returned: with O(step=decide)
leaves:
  description: Control hosts that are cleared, and join anew.
  type: list
  elements: str
  returned: with O(step=decide)
goes_on:
  description: Whether the restore had begun before.
  type: bool
  returned: with O(step=decide)
differences:
  description: How the cloud's databases differ from hypervisors, each other and OVN, a line each.
  type: list
  elements: str
  returned: with O(step=compare)
opened:
  description: Paths of the decrypted files.
  type: list
  elements: str
  returned: with O(step=open)
changes:
  description: Changes made, or predicted in check mode, one line each.
  type: list
  elements: str
  returned: with every step that changes something
"""

from ..module_utils._base.module import run_step
from ..module_utils._ceph import backup as ceph
from ..module_utils._ironic import backup as seed
from ..module_utils._kubeadm import etcd_restore, keys
from ..module_utils._ovn import backup as ovn

# What a host hands over, by part.
PARTS = {"kubernetes-keys": keys.take, "ovn": ovn.take, "seed": seed.take, "ceph": ceph.take}
RULES = {"required_if": [("step", "open", ("into",))]}


def main() -> None:
    """Run the step."""
    ours = (
        "take", "test", "upload", "verify", "open", "timer", "ship", "decide", "state", "restart", "services",
        "mariadb", "compare", "end",
    )  # fmt: skip
    run_step(
        {
            "hand": lambda changes, given: PARTS[given["part"]](changes, given),
            **dict.fromkeys(ours),  # the action's
            "keys_put": etcd_restore.put_keys,
            "etcd_look": etcd_restore.look,
            "etcd_stop": etcd_restore.stop,
            "etcd_put": etcd_restore.put,
            "etcd_leave": etcd_restore.leave,
        },
    )


if __name__ == "__main__":
    main()
