"""A real API server tells every metric that alerts and panels ask it for."""

from __future__ import annotations

import re

from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.alerts import ALERTS
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.panels_layers import KUBERNETES
from ansible_collections.groundup.cloud.tests.unit.monitoring.recorded import MADE, parsed
from ansible_collections.groundup.cloud.tests.unit.monitoring.sites import planned

from .conftest import Site


def test_an_api_server_tells_what_alerts_and_panels_ask(site: Site) -> None:
    plan = planned("ha")
    queries = [one.expression(plan) for one in ALERTS.values()] + [one.expression(plan) for one in KUBERNETES.panels]
    asked = {name for query in queries for name in re.findall(r'\b(\w+){job="api-server"', query)}
    assert len(asked) >= 5
    assert asked - MADE.keys() <= parsed(site.api.text("/metrics")).keys()
