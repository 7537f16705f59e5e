#!/usr/bin/python
"""Fetch the admin kubeconfig and create join credentials on a control host."""

from __future__ import annotations

DOCUMENTATION = r"""
module: kubeadm_access
short_description: Store the admin kubeconfig on the controller, and create join credentials
version_added: 0.1.0
description:
  - Runs on a control host that is a member. Stores the admin kubeconfig, with the cluster's endpoint, in the site's
    state directory on the controller (mode 0600). It is not part of the result.
  - When hosts wait to join, creates a bootstrap token for 20 minutes and waits until C(cluster-info) is signed with it.
    For control hosts it also uploads the certificates, encrypted with a new key.
  - Use C(no_log) on the task. RV(join) is a secret.
options:
  server:
    description: URL of the API in the kubeconfig.
    type: str
    required: true
  api:
    description: URL of the host's own API server.
    type: str
    required: true
  workers:
    description: Whether workers wait to join.
    type: bool
    default: false
  control:
    description: Whether control hosts wait to join.
    type: bool
    default: false
  cluster:
    description:
      - The plan's C(kubernetes). If given, refuses the changes that M(groundup.cloud.kubeadm_node) refuses on every
        member, even when no other member is in the run.
    type: dict
  expected_ca:
    description:
      - SHA-256 of the CA certificate of the site's cluster. If given, a host without an admin kubeconfig is a failure,
        also in check mode.
      - The action plugin takes it from the site's state directory, and refuses a kubeconfig of another cluster.
    type: str
attributes:
  check_mode:
    description: Creates no token. Predicts whether the kubeconfig changes.
  diff_mode:
    description: The kubeconfig is a secret and is not shown.
    support: none
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site
  - groundup.cloud.host
"""

EXAMPLES = r"""
- name: An invitation for the workers that wait
  groundup.cloud.kubeadm_access:
    name: control-1
    site: "{{ groundup_site.site }}"
    server: https://{{ groundup_site.kubernetes.endpoint_address }}:6443
    api: https://{{ groundup_host.address }}:{{ groundup_site.kubernetes.api_port }}
    workers: true
  no_log: true
  register: access
"""

RETURN = r"""
join:
  description: The option O(groundup.cloud.kubeadm_node#module:join). Null when no host waits, and in check mode.
  type: dict
  returned: success
kubeconfig:
  description: Path of the kubeconfig on the controller.
  type: str
  returned: success
"""

from dataclasses import asdict
from typing import Any

from ..module_utils._base.changes import Changes
from ..module_utils._base.module import run_module
from ..module_utils._kubeadm.access import admin_kubeconfig, invite
from ..module_utils._kubeadm.host import NodeHost
from ..module_utils._kubeadm.refuse import refuse_cluster
from ..module_utils._kubeadm.spec import ClusterSettings


def hand_out(changes: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Return the kubeconfig and, when hosts wait, join credentials. Raises GroundupError, OptionError, OSError."""
    host, waiting = NodeHost(name=given["name"]), given["workers"] or given["control"]
    if given["cluster"]:
        # A run on new hosts alone checks no other member, yet applies objects to the whole cluster.
        refuse_cluster(ClusterSettings.from_plan(given["site"], given["cluster"]), host.name, host)
    text = admin_kubeconfig(host, server=given["server"], may_miss=changes.check, expected_ca=given["expected_ca"])
    join = None
    if waiting and text is not None and not changes.check:
        join = asdict(invite(host, server=given["api"], control=given["control"]))
    return {"changed": waiting, "content": text, "join": join}


def main() -> None:
    """Run the module; its action plugin removes the kubeconfig from the result."""
    run_module(
        {
            "name": {"type": "str", "required": True},
            "site": {"type": "str", "required": True},
            "server": {"type": "str", "required": True},
            "api": {"type": "str", "required": True},
            "workers": {"type": "bool", "default": False},
            "control": {"type": "bool", "default": False},
            "cluster": {"type": "dict"},
            "expected_ca": {"type": "str"},
        },
        hand_out,
    )


if __name__ == "__main__":
    main()
