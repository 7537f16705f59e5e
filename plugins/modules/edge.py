#!/usr/bin/python
"""The edge on one control host, step by step."""

from __future__ import annotations

DOCUMENTATION = r"""
module: edge
short_description: Converge and verify HAProxy and the virtual IP on a control host
version_added: 0.1.0
description:
  - "Private: for the role P(groundup.cloud.edge#role) of the same collection."
  - C(converge) installs, configures and starts HAProxy and keepalived. Each program checks a new configuration before
    it replaces the old one. It then reloads and keeps open connections.
  - C(verify) waits until the virtual IP accepts connections on every port, checks its certificate for every name, and
    reads the state of this host's HAProxy. Fails on a timeout, an untrusted certificate or another than O(certificate).
  - C(take_out) has this host's HAProxy send no new connection to the API server of O(server), whose open ones go on.
    The last one that is up stays in. C(put_back) ends that, as does C(converge) what a killed run left. C(serve) waits
    until this host's HAProxy finds that API server ready.
options:
  step:
    description: What to do.
    type: str
    choices: [converge, verify, take_out, put_back, serve]
    required: true
  packages:
    description: Packages of the OS to install. With O(step=converge).
    type: list
    elements: str
  haproxy_config:
    description: Content of C(haproxy.cfg). With O(step=converge).
    type: str
  address:
    description:
      - The host's own address on the network of the virtual IP. The virtual IP goes on the same interface. With
        O(step=converge), and with O(public_ip).
    type: str
  keepalived_config:
    description:
      - Content of C(keepalived.conf), with C(@PASSWORD@) for the password, C(@INTERFACE@) for the interface of
        O(address) and C(@PUBLIC_INTERFACE@) for that of O(public_address).
      - Empty when the virtual IP is the host's own address; keepalived is then stopped.
    type: str
    default: ""
  password:
    description: Password shared by keepalived on all hosts. With O(step=converge).
    type: str
  certificate:
    description:
      - Certificate of the public names, in PEM, leaf first. Empty when HAProxy does not terminate TLS.
      - With O(step=verify), what HAProxy must serve; empty accepts any that the host trusts.
    type: str
    default: ""
  ca_certificate:
    description: CAs, in PEM, of servers with TLS of their own behind HAProxy, such as object gateways.
    type: str
    default: ""
  private_key:
    description: Private key of O(certificate), in PEM.
    type: str
    default: ""
  metrics_certificate:
    description: Certificate of the listener of metrics, in PEM. Empty on a site without monitoring.
    type: str
    default: ""
  metrics_key:
    description: Private key of O(metrics_certificate), in PEM.
    type: str
    default: ""
  metrics_ca:
    description: CA, in PEM, of the client certificate that may read metrics.
    type: str
    default: ""
  virtual_ip:
    description: The virtual IP. With O(step=verify).
    type: str
  ports:
    description: TCP ports that must accept connections.
    type: list
    elements: int
    default: [6443]
  public_ip:
    description:
      - The virtual IP for users, on a network of its own. There HAProxy has port 443 alone, and the host drops
        everything else that comes in by that network. Empty without such a network.
    type: str
    default: ""
  public_address:
    description: The host's own address on the network of O(public_ip). Its interface must have no other network.
    type: str
    default: ""
  public_names:
    description: Names that O(public_ip) serves. With O(step=verify).
    type: list
    elements: str
    default: []
  names:
    description: Public names. Port 443 must present a trusted certificate for each.
    type: list
    elements: str
    default: []
  server:
    description: Name of the control host whose API server it is. With V(take_out), V(put_back) and V(serve).
    type: str
  timeout:
    description:
      - Seconds to wait for the virtual IP, which is up four seconds after keepalived starts. With V(serve), for the
        server.
    type: int
    default: 20
attributes:
  check_mode:
    description: Predicts. Does not check a configuration that refers to missing files.
  diff_mode:
    description: Shows every file without secrets.
extends_documentation_fragment: groundup.cloud.attributes
"""

from ..module_utils._base.module import run_step
from ..module_utils._edge import serve, servers, verify

RULES = {
    "required_if": [
        ("step", "converge", ("packages", "haproxy_config", "address", "password")),
        ("step", "verify", ("virtual_ip",)),
        ("step", "take_out", ("server",)),
        ("step", "put_back", ("server",)),
        ("step", "serve", ("server",)),
    ],
}


def main() -> None:
    steps = {
        "converge": serve.converge, "verify": verify.verify, "take_out": servers.take_out, "put_back": servers.put_back,
        "serve": servers.serve,
    }  # fmt: skip
    run_step(steps, secret=("password", "private_key", "metrics_key"))


if __name__ == "__main__":
    main()
