"""Generate the configuration of containerd and of its client crictl."""

from __future__ import annotations

import json

from .spec import CRI_SOCKET, Node

LIMITS = "/etc/systemd/system/containerd.service.d/10-groundup.conf"
# Debian's unit says infinity, a thousand million: RabbitMQ and MariaDB size tables by it, and take gigabytes.
LIMITS_TEXT = """\
# Written by groundup.cloud.kubeadm_node.
[Service]
LimitNOFILE=1048576
"""


AUTH = ".configs."  # in containerd's configuration: what follows is secret


def config(node: Node) -> str:
    """Return containerd's configuration (version 2, readable by containerd 1.7 and 2)."""
    cri = 'plugins."io.containerd.grpc.v1.cri"'
    return f"""\
# Written by groundup.cloud.kubeadm_node.
version = 2

[{cri}]
  sandbox_image = {json.dumps(node.sandbox_image)}
  # A host that may not lower its own score may not lower a container's either; elsewhere this changes nothing.
  restrict_oom_score_adj = true

  [{cri}.cni]
    bin_dir = "/opt/cni/bin"
    conf_dir = "/etc/cni/net.d"

  [{cri}.containerd]
    default_runtime_name = "runc"

  [{cri}.containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"

    [{cri}.containerd.runtimes.runc.options]
      SystemdCgroup = true

  [{cri}.registry]
    config_path = "/etc/containerd/certs.d"
{_auth(cri, node)}"""


def _auth(cri: str, node: Node) -> str:
    """Return the login of the registry; empty without one."""
    user, _, password = (node.registry_login or "").partition(":")
    host = _word(node.supply.registry.partition("/")[0])
    return (
        f"""
  [{cri}.registry{AUTH}{host}.auth]
    username = {_word(user)}
    password = {_word(password)}
"""
        if user
        else ""
    )


def _word(text: str) -> str:
    """Return ``text`` in TOML: JSON's form, whose escapes of characters beyond 16 bits TOML has not."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def registry_hosts(registry: str, *, tls: bool, ca: str | None) -> str:
    """Return containerd's ``hosts.toml`` of the site's registry, read at each pull; ``ca``: its CA's file."""
    url = f"{'https' if tls else 'http'}://{registry.partition('/')[0]}"
    trusted = f"ca = {json.dumps(ca)}\n" if ca else ""
    return f"""\
# Written by groundup.cloud.kubeadm_node.
server = "{url}"
{trusted}
[host."{url}"]
  capabilities = ["pull", "resolve"]
{trusted and "  " + trusted}"""


def crictl_config() -> str:
    """Return crictl's configuration, which saves operators from naming the socket."""
    # The default timeout of two seconds is too short for a busy host.
    return f"runtime-endpoint: {CRI_SOCKET}\nimage-endpoint: {CRI_SOCKET}\ntimeout: 60\n"
