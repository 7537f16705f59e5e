"""Cinder's own root in OpenStack-Helm's chart: cinder-volume converts images by sudo, cinder-backup reads by it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import dialects

from .conftest import Image

# As Cinder calls it, by name alone: sudo's own path must hold it.
_ASK = ("sudo", "-n", "-l", "cinder-rootwrap", "/etc/cinder/rootwrap.conf", "qemu-img", "info", "image")


@pytest.mark.parametrize("uid", [0, 42424])
def test_the_users_of_cinder_find_rootwrap_by_sudo(uid: int, image: Callable[[str], Image], tmp_path: Path) -> None:
    values = dialects.cinder({}, {"conf": {"cinder_sudoers": "cinder ALL = (root) NOPASSWD: ..."}})
    rules = tmp_path / "sudoers.d"
    rules.mkdir(mode=0o755)
    (rules / "kolla_cinder_sudoers").write_text(values["conf"]["cinder_sudoers"])
    (rules / "kolla_cinder_sudoers").chmod(0o444)
    done = image("openstack").run(*_ASK, uid=uid, mounts={"/etc/sudoers.d": rules})
    assert done.returncode == 0, done.stdout
    assert "/bin/cinder-rootwrap /etc/cinder/rootwrap.conf" in done.stdout
