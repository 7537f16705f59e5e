"""The page of a site has all in one file, of the plan alone, and asks the store and nobody else."""

from __future__ import annotations

import json
import re
from typing import Any

from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.central import LOGS_URL, STORE_URL
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.page import page
from ansible_collections.groundup.cloud.plugins.plugin_utils.monitoring.rules import rules
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.output.topology import topology_svg

from .sites import WHOLE, planned

PLAN = planned("ha", **WHOLE)
TEXT = page(PLAN, interval=15)


def known(text: str = TEXT) -> dict[str, Any]:
    """Return what the page knows of the plan."""
    (facts,) = re.findall(r'<script type="application/json" id="plan">(.*?)</script>', text, re.DOTALL)
    found: dict[str, Any] = json.loads(facts)
    return found


def test_it_shows_the_topology_and_knows_every_machine_and_target() -> None:
    assert topology_svg(PLAN) in TEXT
    facts = known()
    assert facts["hosts"] == list(PLAN.hosts)
    assert facts["layers"]["host"] == len(PLAN.hosts)
    assert facts["layers"]["openstack"] == 0
    assert "etcd control-1" in facts["targets"]
    assert facts["layers"]["storage"] == 0, "managers that stand by need not answer"


def test_it_asks_for_room_only_where_a_timer_tells_it() -> None:
    room = known()["room"]
    assert room["percent"] == 90
    assert len(room["queries"]) == 3
    assert known(page(planned("ha"), interval=15))["room"] is None


def test_times_lead_to_logs_only_where_the_site_keeps_them() -> None:
    assert known()["logs"] == LOGS_URL
    assert known(page(planned("ha"), interval=15))["logs"] is None


def test_it_has_the_words_of_every_alert_by_layer_and_object() -> None:
    words = known()["alerts"]
    for layer, file in rules(PLAN).items():
        for rule in (rule for group in file["groups"] for rule in group["rules"]):
            if rule["labels"]["severity"] != "none":
                said = re.sub(r"\{\{ \$labels\.(\w+) \}\}", r"{\1}", rule["annotations"]["remedy"])
                layers = {layer} if rule["labels"]["layer"] == layer else {layer, "openstack"}  # by its namespace
                for told in layers:
                    assert words[f"{told} {rule['alert']} {rule['labels'].get('object', '')}"]["remedy"] == said


def test_it_asks_the_store_on_loopback_and_loads_nothing() -> None:
    addresses = set(re.findall(r"https?://[^\s\"'`/]+", TEXT))
    assert addresses == {STORE_URL, LOGS_URL, "http://www.w3.org"}, "a link, and the name of SVG"
    (policy,) = re.findall(r'Content-Security-Policy" content="(.+)"', TEXT)
    assert policy.startswith("default-src 'none'; img-src data:; ")
    assert policy.endswith(f"connect-src 'self' {STORE_URL}"), "the runs are beside it"
    assert not re.search(r"\b(src|@import|url\()\s*=?", TEXT.partition("</style>")[2].replace(topology_svg(PLAN), ""))


def test_no_text_of_the_plan_ends_its_script() -> None:
    assert TEXT.count("</script") == TEXT.count("<script") == 2
