"""Placement's allocations of an evacuated instance, as a retirement takes one of them away."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from .conftest import Image

ROOT = Path(__file__).resolve().parents[3]
_RUN = """
cat > /tmp/placement.conf <<end
[api]
auth_strategy = noauth2
[placement_database]
connection = sqlite:////tmp/placement.db
end
export OS_PLACEMENT_CONFIG_DIR=/tmp PYTHONPATH=/collections
placement-manage --config-file /tmp/placement.conf db sync
uwsgi --http-socket 127.0.0.1:9999 --need-app --master --die-on-term --module placement.wsgi.api:application \
  > /tmp/uwsgi.log 2>&1 &
cd /collections/ansible_collections/groundup/cloud/tests/integration/images
timeout 180 python3 withdrawing.py || { cat /tmp/uwsgi.log; exit 1; }
"""


def test_only_the_dead_hosts_share_goes_and_never_the_last(image: Callable[[str], Image]) -> None:
    done = image("openstack").run("sh", "-euc", _RUN, mounts={"/collections/ansible_collections/groundup/cloud": ROOT})
    assert done.returncode == 0, done.stdout
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen == {"before": 2, "elsewhere": True, "after": 1, "still elsewhere": False, "last": 1}, done.stdout
