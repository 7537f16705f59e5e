"""Barbican's real API before a real database and a real Keystone, as the built-in chart configures it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Image
from .stage import Part, Stage

_BARBICAN = """
cd /tmp
wait_for answers 3306
barbican-db-manage upgrade > log 2>&1 || cat log
wait_for test -e /mnt/identity.done
uwsgi --ini /etc/barbican/barbican-api-uwsgi.ini > /mnt/api.log 2>&1 &
wait_for answers 9311
PYTHONPATH=/collections python3 /mnt/visitor.py barbican 2>&1 || tail -n 60 /mnt/api.log
# With another key of the site, the key of a project cannot be read: nothing is stored for that project.
kill %1; wait || true
OS_SIMPLE_CRYPTO_PLUGIN__KEK=$OTHER uwsgi --ini /etc/barbican/barbican-api-uwsgi.ini > /mnt/other.log 2>&1 &
wait_for answers 9311
PYTHONPATH=/collections python3 /mnt/visitor.py barbican 2>&1 || true
"""
KEK, OTHER = f"{'A' * 43}=", f"{'E' * 43}="


@pytest.mark.long  # its image is for sites that name its services: `make test` does not build it
def test_a_secret_is_stored_and_read_back_through_the_real_api(image: Callable[[str], Image], tmp_path: Path) -> None:
    more, mariadb, openstack = image("openstack-more"), image("mariadb"), image("openstack")
    stage = Stage(tmp_path, "barbican")
    etc = stage.etc("barbican", "barbican-api-uwsgi.ini")
    conf = etc / "barbican.conf"
    conf.write_text(conf.read_text().replace("kek = secretbarbicankek", f"kek = {KEK}"))
    parts = [
        *stage.shared_parts(mariadb, openstack),
        Part(
            name="barbican", root=more.root, script=_BARBICAN, env={**more.env, "OTHER": OTHER},
            mounts={"/etc/barbican": etc},
        ),
    ]  # fmt: skip
    said = stage.run(*parts)
    first, _, second = said.strip().partition("\n")
    assert json.loads(first) == {
        "service": "barbican",
        "checks": {"secret": [True, "stored, read back and deleted"]},
    }, said + stage.said(*parts)
    assert "POST answers 500" in second, said
