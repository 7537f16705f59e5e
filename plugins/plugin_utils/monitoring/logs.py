"""What the monitoring host has of the plan to keep logs: who may write, under which name, and what is counted."""

from __future__ import annotations

from typing import Any

from ...module_utils._base.files import HEADER
from ...module_utils._host.watched import DOOR_PORT, LOG_STORE_PORT
from ...module_utils._monitoring.central import HOME
from ...module_utils._monitoring.verify import JOURNALS
from ..plan.types import Plan
from .jobs import writers

# Metrics of ten minutes: lines of a host's journal, and of all logs.
LINES, ALL_LINES = "groundup_log_lines", "groundup_log_lines_all"
SILENT = (
    "on the host: journalctl -n 50 -u groundup-log-journal -u groundup-log-agent; where one entry of the journal stops "
    "the upload again and again, remove /var/lib/groundup-log-agent/journal and restart groundup-log-journal, which "
    "goes on from now"
)
_DOOR = """\
global
    log stderr format raw local0
    maxconn {connections}
    ssl-default-bind-options ssl-min-ver TLSv1.2 no-tls-tickets
defaults
    log global
    mode http
    # What was refused or failed.
    option httplog
    option dontlog-normal
    timeout connect 2s
    timeout client 60s
    timeout server 60s
    timeout http-request 10s
frontend logs
    bind {address}:{port},127.0.0.1:{port} ssl crt {tls}/door.crt ca-file {tls}/writers-ca.crt verify required
    # A host writes under the name of its certificate, and does nothing else. 403: vlagent keeps what it is refused.
    http-request set-var(txn.labels) ssl_c_s_dn(cn),map({home}/door/hosts.map)
    http-request deny deny_status 403 unless {{ path /insert/native }} {{ var(txn.labels) -m found }}
    http-request set-query version=%[url_param(version)]
    http-request del-header ^(vl-|accountid$|projectid$) -m reg
    http-request set-header Content-Type application/octet-stream
    http-request set-header VL-Extra-Fields %[var(txn.labels)]
    http-request set-header VL-Ignore-Fields host,rack
    default_backend store
backend store
    server store 127.0.0.1:{store}
"""


def log_files(plan: Plan) -> dict[str, str]:
    """Return path and text of the files of a site that keeps logs."""
    if not (plan.monitoring and plan.monitoring.logs):
        return {}
    hosts = writers(plan)
    address = next((host.address for host in hosts if host.name == plan.monitoring.host), "")
    door = _DOOR.format(
        connections=1000 + 4 * len(hosts), address=address, port=DOOR_PORT, store=LOG_STORE_PORT, home=HOME,
        tls=HOME / "door-tls",
    )  # fmt: skip
    # By the name of its certificate (plugin_utils/pki).
    labels = {f"logs-{host.name}"[:64]: f"host={host.name}" + f",rack={host.rack}" * bool(host.rack) for host in hosts}
    return {
        "door/haproxy.cfg": f"{HEADER}{door}",
        "door/hosts.map": HEADER + "".join(f"{name} {fields}\n" for name, fields in labels.items()),
    }


def log_rules() -> dict[str, Any]:
    """Return the rules that count what is stored, for the alert on a host that stopped."""
    counted = {LINES: JOURNALS, ALL_LINES: "_time:10m | stats count() lines"}
    rules = [{"record": name, "expr": query} for name, query in counted.items()]
    return {"groups": [{"name": "logs", "rules": rules}]}
