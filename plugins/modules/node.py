#!/usr/bin/python
"""A Kubernetes node, step by step: made, maintained, joined, and taken out again."""

from __future__ import annotations

DOCUMENTATION = r"""
module: node
short_description: Converge a host as a Kubernetes node with kubeadm, and take it out again
version_added: 0.1.0
description:
  - "Private: for the role P(groundup.cloud.kubernetes#role) and the playbook C(groundup.cloud.remove)."
  - Reads the host's state from kubeadm's own files, so the next run finishes a killed one. Resets and repeats an
    unfinished init or join of this site, and refuses other leftovers. Refuses a host of another cluster, and never
    resets it.
options:
  step:
    description:
      - V(maintain) installs the node's programs by digest from the site's file server, configures containerd and the
        kubelet, and initialises the cluster on the first host (with keys and etcd of a backup set where both are put),
        or converges a member. Without a cluster the host is prepared and C(joins) is true. It interrupts no control
        host's API; C(due) lists what needs it. Refuses an upgrade, and another key for Secrets at rest.
      - V(restart) restarts static pods that are due, and renews certificates that are. One control host at a time.
      - V(encryption) reports, on a control host, the keys of Secrets at rest that its API server uses, and how many
        Secrets in etcd each has written. Changes nothing.
      - V(encrypt) has the API server of a control host use the keys in O(encryption_order), and restarts it. One
        control host at a time. Refuses to drop a key that a Secret in etcd was written with.
      - V(join) joins a prepared host with the credentials O(join). Nothing else is converged.
      - V(pull) starts to pull O(later_images) in the background; the kubelet pulls those that fail.
      - V(upgrade_look) reports room for images and the health of etcd. Changes nothing.
      - V(upgrade_wake) starts the kubelet of a control host that a killed upgrade has stopped.
      - Of the version in O(cluster), V(upgrade_stage) fetches images and programs, V(upgrade_control) makes one control
        plane, V(upgrade_record) kubeadm's configuration in the cluster, V(upgrade_kubelet) a node's programs.
      - V(membership) reports a control host's cluster, etcd members and days of certificates. Changes nothing.
      - V(decide) compares the O(answers) of all control hosts with the control node's record, and returns C(ca). Fails
        for different clusters, or another than the record's; with none, when one did not answer or has leftovers.
      - V(forget), on a control host that is a member, removes etcd members and Nodes of the empty O(hosts), so that
        they can join as new ones. Refuses, and changes nothing, when the old member still answers, when a Node of
        that name is another machine that answers, when the remaining members have no quorum, or when it needs a
        member on one of O(half_made).
      - V(access), on a control host that is a member, stores the admin kubeconfig in the site's state directory on
        the control node (mode 0600); it is not part of the result. When hosts wait to join, it creates a bootstrap
        token for 20 minutes and, for control hosts, uploads the certificates with a new key. Use C(no_log) on the
        task, as C(join) is a secret; the action prints why it failed.
      - V(leave_etcd), on a control host that stays, removes the etcd member of O(member), unless that costs the quorum.
      - V(reset), on the host that leaves, stops keepalived, HAProxy and the kubelet, resets the node with kubeadm and
        removes the files of the layers. Sets local volumes aside, beside their directory. Keeps packages, images,
        users and names. Refuses a node of another cluster, and directories of volumes that O(directories) does not
        name.
    type: str
    choices: [maintain, restart, join, pull, encryption, encrypt, upgrade_look, upgrade_wake, upgrade_stage,
      upgrade_control, upgrade_record, upgrade_kubelet, membership, decide, forget, access, leave_etcd, reset]
    required: true
  name:
    description: Name of the host it runs on.
    type: str
  site:
    description: Name of the site, whose state directory on the control node records the cluster.
    type: str
  role:
    description: Role of the node.
    type: str
    choices: [control, worker]
  initialise:
    description: Whether this host initialises the cluster when there is none.
    type: bool
    default: false
  surveyed:
    description: Whether all control hosts were asked (V(decide)), none is in a cluster. V(false) initialises nothing.
    type: bool
    default: false
  address:
    description: Address of the host that the kubelet, etcd and the API server use.
    type: str
  taints:
    description: Taints the node registers with, as C(key=value:Effect).
    type: list
    elements: str
    default: []
  cluster:
    description: The plan's C(kubernetes).
    type: dict
  supply:
    description: The plan's C(supply).
    type: dict
  ca_certificate:
    description: CA, in PEM, of registry and file server, trusted for these two only. Default is the host's trust store.
    type: str
  registry_login:
    description: Login of the registry, as C(user:password). Default is none.
    type: str
  sandbox_image:
    description: Pod sandbox (pause) image.
    type: str
  images:
    description: Images to pull before the host joins, so that it is Ready sooner.
    type: list
    elements: str
    default: []
  later_images:
    description:
      - Images that pods will run, in order. A host that becomes a member pulls them in the background, and with
        O(step=pull) a node does.
    type: list
    elements: str
    default: []
  downloads:
    description:
      - Programs of the node, from the site's file server. Each has a C(url), a target C(path), and the C(sha256) that
        the control node published. Default of that is C(<url>.sha256) of the server, which detects damage but not a
        compromised server.
    type: list
    elements: dict
    default: []
  encryption_keys:
    description: Keys of Secrets at rest (32 bytes in base64), by name. Default are those of the secrets store.
    type: dict
    default: {}
  encryption_order:
    description: Names of keys; the first one writes, all read. V(identity) is no encryption. Default is that of a new
      control host, by the secrets store. A member keeps its own until O(step=encrypt).
    type: list
    elements: str
    default: []
  issued_since:
    description: Time (seconds since 1970). Older certificates of kubeadm are renewed. The action knows it.
    type: float
    default: 0
  control_images:
    description:
      - Images of C(etcd), C(kube-apiserver), C(kube-controller-manager), C(kube-scheduler) and C(coredns), with their
        known digests. kubeadm itself names images by version only. For control hosts.
    type: dict
    default: {}
  expected_ca:
    description:
      - SHA-256 of the CA of an existing cluster, never initialised again. The action takes it from the state directory.
    type: str
  join:
    description: Join credentials, C(join) of V(access). A prepared host joins with them, and nothing else is checked.
    type: dict
  answers:
    description: The C(results) of a loop of V(membership) over all control hosts. With O(step=decide).
    type: list
    elements: dict
  first:
    description: Name of the host that would initialise the cluster. With O(step=decide).
    type: str
  hosts:
    description: Empty hosts about to join, each a C(groundup_host). With O(step=forget).
    type: list
    elements: dict
  half_made:
    description: Names of those of O(hosts) with an unfinished join. Their etcd may run.
    type: list
    elements: str
    default: []
  server:
    description: URL of the API in the kubeconfig. With O(step=access).
    type: str
  api:
    description: URL of the host's own API server. With O(step=access) and O(step=forget).
    type: str
  workers:
    description: Whether workers wait to join.
    type: bool
    default: false
  control:
    description: Whether control hosts wait to join.
    type: bool
    default: false
  member:
    description: Name of the host whose etcd member is removed. O(address) is its address. With O(step=leave_etcd).
    type: str
  directories:
    description: Directories of local volumes that leave, as the verb C(remove) names them.
    type: list
    elements: path
    default: []
  force:
    description: Risks of C(groundup.cloud.remove) to accept. V(other-volumes) sets other directories aside, too.
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    description: Predicts, and refuses what a run would refuse. Creates no token.
  diff_mode:
    description: Shows every file without secrets, members and Nodes.
extends_documentation_fragment: groundup.cloud.attributes
"""

from functools import partial

from ..module_utils._base.module import run_step
from ..module_utils._kubeadm import access, encryption, forget, membership, steps, upgrade

_NODE = ("name", "role", "address", "site", "cluster", "supply", "sandbox_image")
RULES = {
    "required_if": [
        *(("step", step, _NODE) for step in ("maintain", "restart", "encrypt", "join", "pull", *upgrade.STEPS)),
        ("step", "encrypt", ("encryption_order",)),
        *(("step", step, ("name",)) for step in ("encryption", "upgrade_look")),
        ("step", "join", ("join",)),
        ("step", "membership", ("name", "address", "site", "cluster")),
        ("step", "decide", ("site", "answers", "first")),
        ("step", "forget", ("name", "api", "hosts")),
        ("step", "access", ("name", "site", "server", "api")),
        ("step", "leave_etcd", ("name", "member", "address")),
        ("step", "reset", ("name", "site")),
    ]
}


def main() -> None:
    run_step(
        {
            **{step: partial(steps.make, step) for step in ("maintain", "restart", "join")},
            "pull": steps.pull,
            "encryption": encryption.look,
            "encrypt": steps.encrypt,
            "upgrade_look": upgrade.look,
            **{step: partial(upgrade.make, step) for step in upgrade.STEPS},
            "membership": membership.of_host,
            "decide": None,
            "forget": forget.remove,
            "access": access.hand_out,
            **dict.fromkeys(("leave_etcd", "reset"), steps.leave),
        },
        secret=("encryption_keys", "join", "registry_login"),
    )


if __name__ == "__main__":
    main()
