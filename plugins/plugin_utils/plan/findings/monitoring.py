"""Who watches the site: a machine of its own outside the cluster, that somebody hears."""

from __future__ import annotations

from collections.abc import Iterator

from ..form import choose, error, warning
from ..layout.context import PlanContext
from ..types import Finding


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about the monitoring host and its receiver."""
    plan, hosts = context.plan.monitoring, context.plan.hosts
    if plan is None:
        if context.site.monitoring.logs.enabled:
            yield warning("logs-without-monitoring", "monitoring.logs.enabled")(
                what="logs are asked for, and monitoring is not",
                why="no machine keeps them",
                remedy="write monitoring.enabled: true",
            )
        return
    if not plan.host:
        yield error("monitoring-without-host", "monitoring.host")(
            what="no machine is named to scrape and alert, and the site has no seed",
            why="nobody would read the metrics",
            remedy="write monitoring.host, best a machine that is no node of the cluster",
        )
    elif plan.host not in hosts:
        yield error("monitoring-host-unknown", "monitoring.host")(
            what=f"{plan.host} is no machine of the site",
            why="nobody would read the metrics",
            remedy=choose(plan.host, hosts),
        )
    elif hosts[plan.host].node_labels:
        yield warning("monitoring-inside", "monitoring.host")(
            what=f"{plan.host} is a node of the cluster that it is to watch",
            why="a host that fails takes the alert about itself with it",
            remedy="name a machine that is no node, such as the seed",
        )
    if plan.pagerduty and not (plan.webhook or plan.mail):
        yield warning("monitoring-warnings-unheard", "monitoring.mail")(
            what="warnings are sent nowhere: pagerduty gets critical alerts alone",
            why="a disk that fills or a certificate that ends stays unseen until it is critical",
            remedy="write monitoring.mail or monitoring.webhook, too",
        )
    if not (plan.webhook or plan.pagerduty or plan.mail):
        yield warning("monitoring-without-receiver", "monitoring.webhook")(
            what="alerts are sent nowhere",
            why="a fault stays unseen until somebody asks Alertmanager's API",
            remedy="write monitoring.pagerduty and monitoring.mail, or monitoring.webhook, a URL of your own",
        )
