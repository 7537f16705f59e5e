"""Chart and image of two releases: what programs say to the chart of another release, and the card of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.diagnose.rules import diagnose
from ansible_collections.groundup.cloud.plugins.plugin_utils.rollout.types import Symptom

from .conftest import Image

_SERVES = "uwsgi --http-socket 127.0.0.1:9999 --need-app --master --die-on-term"
# A database that a later release has migrated already.
_LATER = """
cat > /tmp/placement.conf <<end
[placement_database]
connection = sqlite:////tmp/placement.db
end
export OS_PLACEMENT_CONFIG_DIR=/tmp
placement-manage --config-file /tmp/placement.conf db sync
python3 <<end
import sqlite3
with sqlite3.connect("/tmp/placement.db") as database:
    database.execute("update alembic_version set version_num = 'later'")
end
placement-manage --config-file /tmp/placement.conf db sync
"""
CHARTS_OF_ANOTHER_RELEASE = {
    "an application that was a file": f"{_SERVES} --wsgi-file /var/lib/openstack/bin/nova-api-wsgi",
    "an application of a later one": f"{_SERVES} --module nova.wsgi.later:application",
    "an argument that is gone": "nova-manage cell_v2 simple_cell_setup --local_cell",
    "a command that is gone": "keystone-manage credential_mend",
    "a migration of a later release": _LATER,
}


@pytest.mark.parametrize("command", CHARTS_OF_ANOTHER_RELEASE.values(), ids=CHARTS_OF_ANOTHER_RELEASE)
def test_what_the_image_says_to_a_chart_of_another_release_is_told_as_that(
    image: Callable[[str], Image], command: str
) -> None:
    done = image("openstack").run("timeout", "120", "sh", "-c", command)
    assert done.returncode, done.stdout
    symptom = Symptom(
        release="nova", namespace="openstack", object="Pod/nova-api-0", owner="Deployment/nova-api", stage="start",
        image="registry.test/openstack:2026.1", container="nova-api", exit_code=done.returncode, reason="Error",
        log=tuple(done.stdout.splitlines()[-40:]),
    )  # fmt: skip
    found = diagnose(symptom)
    assert (found.rule, found.layer) == ("image-mismatch", "image"), done.stdout
    assert "image registry.test/openstack:2026.1 is not of the chart's release" in found.what
