#!/usr/bin/python
"""What monitoring runs on a host, step by step."""

from __future__ import annotations

DOCUMENTATION = r"""
module: monitoring
short_description: Converge and verify exporters, logs, stores, alert rules and Alertmanager
version_added: 0.2.0
description:
  - "Private: for the role P(groundup.cloud.monitoring#role) of the same collection."
  - Every host has Debian's node exporter, with HTTPS and a client certificate. Its port, HAProxy's metrics and Ceph's
    are open to O(readers) alone.
  - With O(logs), vlagent on every host writes journal and logs of pods to the host O(monitoring_host), where HAProxy
    admits the certificates of the site's hosts, and VictoriaLogs keeps the lines.
  - The host O(monitoring_host) has VictoriaMetrics, vmalert and Debian's Alertmanager, on loopback, with the files that
    the plan has. The action makes them, and reads the token for API servers from the cluster.
  - Where machines have a management controller with Redfish, a timer of that host asks each for its power supplies,
    fans and temperatures.
options:
  step:
    description:
      - V(converge) installs, configures and starts. A host that was O(monitoring_host) before loses what only that one
        has, but keeps its metrics.
      - V(tell), on O(monitoring_host), writes the plan's files alone, for a run that is limited to other hosts.
      - V(backups), on O(monitoring_host), has its node exporter tell when the newest backup set in O(directory) saved
        each part, when the newest one that passed its restore test (C(restore-test)) and in the bucket
        (C(bucket-copy)) was taken, and until when binary logs follow the newest (C(binary-logs)).
        A part keeps its time where that is newer, and has 0 until it is saved.
      - V(drift), on O(monitoring_host), has its node exporter tell O(metrics), what C(groundup.cloud.drift) found;
        V(failure) in the same way what C(groundup.cloud.hypervisor_failure) found, and V(capacity) what
        C(groundup.cloud.capacity) did.
      - V(silence), on O(monitoring_host), has Alertmanager mute alerts about O(hosts), O(osds) and O(layers) for
        O(minutes); one of a former run is made longer. V(hear) ends that. A failure of these two is a warning.
      - V(verify), on O(monitoring_host), waits until every target of the plan answers, every rule can be judged, and
        the alert C(AlertingWorks), which always fires, is in Alertmanager. Of Ceph's managers one is enough. Of each
        host that writes logs, the store must have a line of the last ten minutes.
        Hosts of O(absent) are left out.
    type: str
    choices: [converge, tell, backups, drift, failure, capacity, silence, hear, verify]
    required: true
  site_file:
    description: Path of the site file.
    type: path
    required: true
  name:
    description: Name of the host.
    type: str
    required: true
  monitoring_host:
    description: Name of the site's monitoring host.
    type: str
    required: true
  absent:
    description: Hosts set aside. With O(step=verify).
    type: list
    elements: str
    default: []
  directory:
    description: Directory of backup sets, on the control node. Default is that of the site. With O(step=backups).
    type: str
    default: ""
  metrics:
    description: Metrics as text. With O(step=drift), O(step=failure) and O(step=capacity).
    type: str
    default: ""
  hosts:
    description: Hosts that a run works on. With O(step=silence) and O(step=hear).
    type: list
    elements: str
    default: []
  osds:
    description: Numbers of OSDs that a run works on.
    type: list
    elements: int
    default: []
  layers:
    description: Layers that a run works on as a whole.
    type: list
    elements: str
    default: []
  run:
    description: What the run does, for whoever looks at the silence.
    type: str
    default: ""
  minutes:
    description: Minutes after which the silence ends by itself.
    type: int
    default: 60
  address:
    description: Address of the host, where its node exporter listens. With O(step=converge).
    type: str
  readers:
    description: Addresses of the monitoring host. With O(step=converge).
    type: list
    elements: str
  packages:
    description: Packages of the OS to install. With O(step=converge).
    type: list
    elements: str
  namespace:
    description: Namespace of the pods that the host asks for metrics. Default is none.
    type: str
    default: ""
  user:
    description: Name of O(certificate) in the site's state directory.
    type: str
  certificate:
    description: Certificate of the node exporter, in PEM. With O(step=converge).
    type: str
  private_key:
    description: Private key of O(certificate), in PEM.
    type: str
  ca_certificate:
    description: CA, in PEM, of O(certificate) and of monitoring's client certificate.
    type: str
  client_certificate:
    description: Monitoring's client certificate, in PEM. On O(monitoring_host).
    type: str
    default: ""
  client_key:
    description: Private key of O(client_certificate), in PEM.
    type: str
    default: ""
  tls:
    description: Credentials of O(monitoring_host) by file name. The action makes them.
    type: dict
    default: {}
  receivers:
    description: Secrets by which O(monitoring_host) sends alerts and metrics, by file. The action reads them from the
      store.
    type: dict
    default: {}
  controllers:
    description: How O(monitoring_host) asks the management controller of each machine (address, user, credentials,
      system), by machine. The action makes them.
    type: dict
    default: {}
  passwords:
    description: Passwords of O(controllers), by name. The action reads them from the store.
    type: dict
    default: {}
  logs:
    description: How the host writes its logs (url, user, certificate, node, programs, programs_url, seed). Default is
      not at all; V(converge) then removes what an earlier run left of it.
    type: dict
    default: {}
  logs_key:
    description: Private key of the certificate in O(logs), in PEM.
    type: str
    default: ""
  files_ca:
    description: CA, in PEM, of the file server. Default is the host's trust store.
    type: str
    default: ""
attributes:
  check_mode:
    description: Predicts. Without a cluster, its token is not predicted.
  diff_mode:
    description: Shows every file without secrets.
extends_documentation_fragment:
  - groundup.cloud.attributes
  - groundup.cloud.site
"""

EXAMPLES = r"""
- name: Ask whether all targets answer
  groundup.cloud.monitoring:
    step: verify
    site: "{{ groundup_site.site }}"
    site_file: "{{ groundup_site_file }}"
    name: "{{ groundup_host.name }}"
    monitoring_host: "{{ groundup_site.monitoring.host }}"
"""

RETURN = r"""
changes:
  description: Changes made, or predicted in check mode, one line each.
  type: list
  elements: str
  returned: but with O(step=verify), O(step=silence) and O(step=hear)
targets:
  description: Number of targets that were asked for.
  type: int
  returned: with O(step=verify)
"""

from ..module_utils._base.module import run_step
from ..module_utils._monitoring.central import tell
from ..module_utils._monitoring.converge import converge
from ..module_utils._monitoring.silences import hear, silence
from ..module_utils._monitoring.texts import backups, capacity, drift, failure
from ..module_utils._monitoring.verify import verify

_NEEDED = ("address", "readers", "packages", "user", "certificate", "private_key", "ca_certificate")
RULES = {"required_if": [("step", "converge", _NEEDED)]}


def main() -> None:
    """Run the step."""
    steps = {
        "converge": converge, "tell": tell, "backups": backups, "drift": drift, "failure": failure,
        "capacity": capacity, "silence": silence, "hear": hear, "verify": verify,
    }  # fmt: skip
    run_step(steps, secret=("private_key", "client_key", "tls", "logs_key", "receivers", "passwords"))


if __name__ == "__main__":
    main()
