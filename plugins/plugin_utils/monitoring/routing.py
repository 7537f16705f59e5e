"""Alertmanager's configuration from the plan: who hears what, and which alert hides another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...module_utils._host.watched import PROOF
from ...module_utils._hypervisor.services import OVN_AGENT
from ...module_utils._monitoring.central import HOME, RECEIVERS, REMOTE
from ..plan.part_types import MailPlan, MonitoringPlan, PagerdutyPlan

_SUBJECT = "{{ .Status }}: {{ .GroupLabels.object }}, layer {{ .GroupLabels.layer }} of site {{ .GroupLabels.site }}"
_TEXT = """\
{{ range .Alerts }}{{ .Labels.alertname }}, {{ .Labels.severity }}, {{ .Status }}: {{ .Annotations.what }}
  since:  {{ .StartsAt.UTC.Format "2006-01-02 15:04:05" }} UTC
  why:    {{ .Annotations.why }}
  remedy: {{ .Annotations.remedy }}

{{ end }}"""
_IMPLICIT_TLS = ":465"  # there Alertmanager begins with TLS, and would wait for STARTTLS in vain


def routing(monitoring: MonitoringPlan) -> dict[str, Any]:
    """Return the configuration: one message an object and layer, and a lost rack or host hides what was on it."""
    url, pagerduty, mail = monitoring.webhook, monitoring.pagerduty, monitoring.mail
    every = {"webhook_configs": [{"url": url, "send_resolved": True}]} if url else {}
    receivers = [{"name": "site", **every, **({"email_configs": [_mail(mail)]} if mail else {})}, {"name": "nobody"}]
    routes = [{"receiver": "nobody", "matchers": [f'alertname="{PROOF}"']}]
    if pagerduty:
        receivers.append({"name": "critical", **every, "pagerduty_configs": [_pagerduty(pagerduty)]})
        routes.append({"receiver": "critical", "matchers": ['severity="critical"']})
    return {
        "route": {
            "receiver": "site",
            "group_by": ["site", "layer", "object"],
            "group_wait": "5s",
            "group_interval": "1m",
            "repeat_interval": "4h",
            "routes": routes,
        },
        "inhibit_rules": [
            {
                "source_matchers": ['alertname="RackDown"'],
                "target_matchers": ['alertname="HostDown"'],  # which hides the rest of its host all the same
                "equal": ["site", "rack"],
            },
            {
                "source_matchers": ['alertname="HostDown"'],
                "target_matchers": ['alertname!~"HostDown|RackDown"'],
                "equal": ["site", "object"],
            },
            {
                "source_matchers": ['alertname="UnitEnded"', f'unit="{OVN_AGENT}"'],
                "target_matchers": ['alertname="OvnAgentSilent"'],
                "equal": ["site", "object"],
            },
        ],
        "receivers": receivers,
    }


def secrets_of(monitoring: MonitoringPlan) -> dict[str, str]:
    """Return the name in the secrets store of each file of a secret, by its path: to send alerts and metrics by."""
    names = [one.secret for one in (monitoring.pagerduty, monitoring.mail) if one and one.secret]
    remote = monitoring.remote_write
    return {_file(name): name for name in names} | (
        {f"{REMOTE}/secret": remote.secret} if remote and remote.secret else {}
    )


def _file(secret: str) -> str:
    return f"{RECEIVERS}/{Path(secret).name}"


def _pagerduty(plan: PagerdutyPlan) -> dict[str, Any]:
    return {
        "routing_key_file": f"{HOME}/{_file(plan.secret)}", **({"url": plan.url} if plan.url else {}),
        "send_resolved": True, "severity": "critical", "client": "groundup.cloud", "client_url": "",
        "description": "{{ .GroupLabels.site }}: {{ range .Alerts }}{{ .Annotations.what }}. {{ end }}",
        "component": "{{ .GroupLabels.object }}", "group": "{{ .GroupLabels.layer }}",
    }  # fmt: skip


def _mail(plan: MailPlan) -> dict[str, Any]:
    login = (
        {"auth_username": plan.username, "auth_password_file": f"{HOME}/{_file(plan.secret)}"} if plan.secret else {}
    )
    return {
        "to": ", ".join(plan.to), "from": plan.sender, "smarthost": plan.smarthost, **login,
        "require_tls": plan.require_tls and not plan.smarthost.endswith(_IMPLICIT_TLS), "send_resolved": True,
        "headers": {"Subject": _SUBJECT}, "html": "", "text": _TEXT,
    }  # fmt: skip
