"""Capacity and usage before a real Nova and a real Placement: pages, deleted instances, zones, growth."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Image

ROOT = Path(__file__).resolve().parents[3]
# Threads of Nova that are started before uWSGI forks never answer: each process loads it (lazy-apps).
_RUN = """
cd /tmp
printf "[api]\\nauth_strategy = noauth2\\n[placement_database]\\nconnection = sqlite:////tmp/placement.db\\n" \\
  > placement.conf
cat > nova.conf <<end
[DEFAULT]
transport_url = fake:/
state_path = /tmp
[api]
max_limit = 2
[database]
connection = sqlite:////tmp/nova.db
[api_database]
connection = sqlite:////tmp/nova_api.db
end
cat > api-paste.ini <<end
[composite:osapi_compute]
use = call:nova.api.openstack.urlmap:urlmap_factory
/v2.1: api
[pipeline:api]
pipeline = faultwrap context app
[filter:faultwrap]
paste.filter_factory = nova.api.openstack:FaultWrapper.factory
[filter:context]
paste.filter_factory = nova.api.auth:NovaKeystoneContext.factory
[app:app]
paste.app_factory = nova.api.openstack.compute:APIRouterV21.factory
end
export OS_PLACEMENT_CONFIG_DIR=/tmp OS_NOVA_CONFIG_DIR=/tmp PYTHONPATH=/collections PYTHONWARNINGS=ignore
placement-manage --config-file placement.conf db sync
manage="nova-manage --config-file nova.conf"
$manage api_db sync
$manage cell_v2 map_cell0 --database_connection sqlite:////tmp/cell0.db
$manage db sync
$manage cell_v2 create_cell --name cell1 --database_connection sqlite:////tmp/nova.db --transport-url fake:/
cd /collections/ansible_collections/groundup/cloud/tests/integration/images
python3 counted.py make
serve="uwsgi --need-app --master --lazy-apps --enable-threads --die-on-term --add-header Connection:close"
$serve --http-socket 127.0.0.1:9999 --module placement.wsgi.api:application > /tmp/uwsgi.log 2>&1 &
$serve --http-socket 127.0.0.1:8774 --module nova.wsgi.osapi_compute:application > /tmp/nova.log 2>&1 &
timeout 300 python3 counted.py ask || { cat /tmp/uwsgi.log /tmp/nova.log; exit 1; }
"""


def test_what_is_counted_is_what_nova_and_placement_know(image: Callable[[str], Image]) -> None:
    done = image("openstack").run("sh", "-euc", _RUN, mounts={"/collections/ansible_collections/groundup/cloud": ROOT})
    assert done.returncode == 0, done.stdout
    seen = json.loads(done.stdout.splitlines()[-1])
    assert (seen["unknown"], seen["records"]) == ([], 5), "two a page; the one of 60 days ago is none of the period's"
    hours = {"web": (30 + 10 + 2) * 24, "gone": (20 + 1) * 24}
    assert seen["hours"] == pytest.approx(hours, abs=0.2)
    rows = seen["rows"]
    assert set(rows) == {"cloud", "zone nova", "zone east", "aggregate zone=east"}
    every, east = rows["cloud"], rows["zone east"]
    assert [every[name] for name in ("hosts", "total", "ratio", "capacity", "used", "free")] == [2, 16, 4, 64, 6, 58]
    assert [east[name] for name in ("hosts", "hosts_away", "capacity", "used", "free")] == [1, 0, 32, 0, 32]
    # Two of now were not there 30 days ago, one of then is gone: of two CPUs each.
    assert every["growth_per_day"] == pytest.approx(2 / 30, abs=0.01)
