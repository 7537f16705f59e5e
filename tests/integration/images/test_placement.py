"""Placement's allocations of an evacuated instance, as a retirement takes one of them away."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import placement

from .conftest import Image

_RUN = """
cat > /tmp/placement.conf <<end
[api]
auth_strategy = noauth2
[placement_database]
connection = sqlite:////tmp/placement.db
end
export OS_PLACEMENT_CONFIG_DIR=/tmp PYTHONPATH=/opt/test
placement-manage --config-file /tmp/placement.conf db sync
uwsgi --http-socket 127.0.0.1:9999 --need-app --master --die-on-term --module placement.wsgi.api:application \
  > /tmp/uwsgi.log 2>&1 &
timeout 180 python3 /opt/test/withdrawing.py || { cat /tmp/uwsgi.log; exit 1; }
"""


def test_only_the_dead_hosts_share_goes_and_never_the_last(image: Callable[[str], Image], tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for name, source in (
        ("placement_verbs.py", Path(placement.__file__)),
        ("withdrawing.py", Path(__file__).with_name("withdrawing.py")),
    ):
        (tmp_path / name).write_text(source.read_text())
    done = image("openstack").run("sh", "-euc", _RUN, mounts={"/opt/test": tmp_path})
    assert done.returncode == 0, done.stdout
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen == {"before": 2, "elsewhere": True, "after": 1, "still elsewhere": False, "last": 1}, done.stdout
