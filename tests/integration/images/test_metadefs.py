"""Glance's definitions of metadata, as the built-in chart's job loads them: Horizon's forms fail where it has none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .conftest import Image

PROFILE = Path(__file__).resolve().parents[3] / "charts/glance/profile.yaml"
_RUN = '''
printf '[database]\\nconnection = sqlite:////tmp/glance.db\\n' > /tmp/glance-api.conf
glance-manage --config-file /tmp/glance-api.conf db_sync
for run in first second; do glance-manage --config-file /tmp/glance-api.conf db_load_metadefs %s; done
python3 -c '
import sqlite3
types = """select name from metadef_resource_types
  where id in (select resource_type_id from metadef_namespace_resource_types)"""
print(*(name for name, in sqlite3.connect("/tmp/glance.db").execute(types)))'
'''
ASKED = {"OS::Nova::Flavor", "OS::Glance::Image", "OS::Cinder::Volumes"}  # by Horizon's launch form


def test_the_charts_job_loads_definitions_and_a_second_run_fails_at_nothing(image: Callable[[str], Image]) -> None:
    words = [line.strip("- \n") for line in PROFILE.read_text().splitlines()]
    place = words[words.index("db_load_metadefs") + 1]
    done = image("openstack").run("sh", "-euc", _RUN % place)
    assert done.returncode == 0, done.stdout
    assert set(done.stdout.splitlines()[-1].split()) >= ASKED, done.stdout
