"""Converge HAProxy, and keepalived for the virtual IP, on one control host."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from .._base import files, tls
from .._base.changes import Changes
from .._base.run import run
from .._host import kernel, packages, units
from .._host.interfaces import interface_of
from .._host.units import Unit
from . import public, servers

HAPROXY = Path("/etc/haproxy/haproxy.cfg")
PEM = Path("/etc/haproxy/tls/edge.pem")
CA = Path("/etc/haproxy/tls/site-ca.pem")  # HAProxy's own: it reads it at a reload, which only its own files cause
METRICS, METRICS_CA = PEM.with_name("metrics.pem"), PEM.with_name("metrics-ca.pem")
KEEPALIVED = Path("/etc/keepalived/keepalived.conf")
ALIVE = Path("/usr/local/lib/groundup/edge-alive")
SYSCTL = Path("/etc/sysctl.d/90-groundup-edge.conf")

# Keepalived runs this every two seconds; bash opens the sockets itself. A host that no packet reaches still sends: it
# would keep the address and answer nobody. Its etcd has no quorum then, and the other control hosts (the arguments) are
# silent; a refusal is an answer, too. Without kube-proxy here (10256) no cluster is there yet, nor a quorum to lose.
ALIVE_SCRIPT = """\
#!/bin/bash
# Written by groundup.cloud: succeeds while this host's HAProxy answers, unless the host is cut off from all the others.
export LC_ALL=C
says() {
    exec 3<>/dev/tcp/127.0.0.1/8404 || return 1
    printf 'GET %s HTTP/1.0\\r\\n\\r\\n' "$1" >&3
    read -r _ status _ <&3
    exec 3>&-
    [ "$status" = 200 ]
}
answers() {
    said=$(timeout 1 bash -c "exec 3<>/dev/tcp/$1/10256" 2>&1) || [[ $said = *refused* ]]
}
says /alive || exit 1
if [ $# -eq 0 ] || says /cluster || ! (exec 3<>/dev/tcp/127.0.0.1/10256) 2>/dev/null; then exit 0; fi
asked=()
for host in "$@"; do answers "$host" & asked+=($!); done
for one in "${asked[@]}"; do wait "$one" && exit 0; done
exit 1
"""


def converge(changes: Changes, wanted: dict[str, Any]) -> dict[str, Any]:
    """Converge the host to ``wanted`` and return the module's result. Raises GroundupError."""
    packages.installed(changes, wanted["packages"])
    # HAProxy must listen on the virtual IP while another host holds it.
    kernel.parameters(changes, {"net.ipv4.ip_nonlocal_bind": "1"}, file=SYSCTL)
    haproxy = Unit(changes, "haproxy.service", on_change="reload")
    if wanted["certificate"]:
        pem = tls.with_key(wanted["certificate"], wanted["private_key"])
        haproxy.place(PEM, pem, mode=0o600, secret=True, valid=partial(tls.check_pair, user="edge"))
    if wanted["ca_certificate"]:
        haproxy.place(CA, f"{wanted['ca_certificate'].strip()}\n")
    if wanted["metrics_certificate"]:
        pem = tls.with_key(wanted["metrics_certificate"], wanted["metrics_key"])
        haproxy.place(METRICS, pem, mode=0o600, secret=True, valid=partial(tls.check_pair, user="metrics"))
        haproxy.place(METRICS_CA, f"{wanted['metrics_ca'].strip()}\n")
    haproxy.place(HAPROXY, wanted["haproxy_config"], valid=_haproxy_takes)
    haproxy.running()
    if not wanted["metrics_certificate"]:
        for path in (METRICS, METRICS_CA):
            files.remove(changes, path, secret=True)
    # Before the address of users is there.
    public.converge(changes, public_rules(wanted))
    if wanted["keepalived_config"]:
        keepalived = Unit(changes, "keepalived.service", on_change="reload")
        files.place(changes, ALIVE, ALIVE_SCRIPT, mode=0o755)
        keepalived.place(KEEPALIVED, keepalived_text(wanted), mode=0o600, secret=True, valid=_keepalived_takes)
        keepalived.running()
    else:
        units.off(changes, ["keepalived.service"])
    servers.mend(changes)
    return changes.result()


def keepalived_text(wanted: dict[str, Any]) -> str:
    """Return keepalived's configuration with the host's interface and the password filled in. Raises GroundupError."""
    text: str = wanted["keepalived_config"].replace("@INTERFACE@", interface_of(wanted["address"]))
    if own := wanted.get("public_address"):
        text = text.replace("@PUBLIC_INTERFACE@", public.interface(own, management=wanted["address"]))
    return text.replace("@PASSWORD@", wanted["password"])


def public_rules(wanted: dict[str, Any]) -> str:
    """Return the nftables table of the public network, "" without one. Raises GroundupError."""
    if not wanted["public_ip"]:
        return ""
    interface = public.interface(wanted["public_address"], management=wanted["address"])
    return public.rules(interface, wanted["public_ip"])


def _haproxy_takes(path: Path) -> None:
    run(
        ["haproxy", "-c", "-q", "-f", str(path)],
        remedy="correct the template of role edge; the old file is still in use",
    )


def _keepalived_takes(path: Path) -> None:
    run(["keepalived", "-t", "-f", str(path)], remedy="correct the template of role edge; the old file is still in use")
