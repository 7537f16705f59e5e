"""The time-outs on the way of a request: one table, and what is written of it elsewhere."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.plugin_utils.services.parts import uwsgi
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.timeouts import TIMEOUTS

ROOT = Path(__file__).resolve().parents[3]
_EDGE = {
    "connect": TIMEOUTS.edge_connect, "client": TIMEOUTS.edge_client, "server": TIMEOUTS.edge_answer,
    "http-request": TIMEOUTS.headers, "client-hs": TIMEOUTS.handshake,
}  # fmt: skip


def test_haproxy_has_the_tables_seconds() -> None:
    text = (ROOT / "roles/edge/templates/haproxy.cfg.j2").read_text()
    defaults = text.partition("\ndefaults\n")[2].partition("\nbackend ")[0]
    assert {name: f"timeout {name} {seconds}s" in defaults for name, seconds in _EDGE.items()} == dict.fromkeys(
        _EDGE, True
    )
    assert f"timeout tunnel {TIMEOUTS.tunnel // 3600}h" in defaults


def test_every_uwsgi_server_waits_for_a_slow_client_longer_than_the_edge() -> None:
    """With uWSGI's own 4 seconds an image that is read slowly ends early, with status 200."""
    assert uwsgi(1)["uwsgi"]["socket-timeout"] == TIMEOUTS.server_client > TIMEOUTS.edge_client
    library = (ROOT / "charts/groundup-lib/templates/_conf.tpl").read_text()
    assert f"socket-timeout: {TIMEOUTS.server_client}\n" in library


def test_database_connections_have_the_tables_seconds() -> None:
    library = (ROOT / "charts/groundup-lib/templates/_components.tpl").read_text()
    connect, statement = TIMEOUTS.database_connect, TIMEOUTS.database
    assert f"connect_timeout={connect}&read_timeout={statement}&write_timeout={statement}" in library
    assert f'"read_timeout": {TIMEOUTS.database}' in (ROOT / "charts/horizon/values.yaml").read_text()


def test_who_is_further_in_gives_up_first() -> None:
    assert TIMEOUTS.database < TIMEOUTS.identity
    assert 2 * TIMEOUTS.identity < TIMEOUTS.queue == TIMEOUTS.service < TIMEOUTS.edge_answer


def test_the_page_has_every_seconds_of_the_table() -> None:
    page = (ROOT / "docs/edge.md").read_text()
    told = dict(re.findall(r"^\| `(\w+)` \| (\d+) s \|", page, re.MULTILINE))
    assert told == {name: str(seconds) for name, seconds in asdict(TIMEOUTS).items()}
