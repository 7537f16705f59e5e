"""Plain Debian of each release, from what this machine has built: no test builds."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import get_args

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import openpgp
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import DebianRelease
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.chroot import Chroot
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.process import Commands
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import PasswordSource, Store

from .plain import PROGRAM, Host


@pytest.fixture(params=get_args(DebianRelease))
def host(request: pytest.FixtureRequest, tmp_path: Path) -> Host:
    release = request.param
    names = (f"rootfs-plain-{release}", f"packages-{release}")
    if missing := supply.missing(names):
        pytest.skip(f"not built on this machine: {', '.join(missing)}")
    log = tmp_path / "log"
    root = Chroot(lower=supply.unpacked(names[0]), scratch=tmp_path / "root", commands=Commands(log=log))
    found = Host(release, root, log)
    shutil.copytree(supply.ensure(names[1])[names[1]].path, found.tree)
    (release_file,) = found.tree.glob("dists/*/Release")
    store = Store.open(tmp_path, PasswordSource(path=tmp_path / "password", ours=True))
    signed = openpgp.sign_release(store, tmp_path, "kept", release_file.read_text())
    release_file.with_name("InRelease").write_text(signed)
    ours = root.upper / "opt/ours/ansible_collections/groundup/cloud/plugins"
    shutil.copytree(COLLECTION / "plugins/module_utils", ours / "module_utils")
    (root.upper / "opt/program.py").write_text(PROGRAM)
    policy = root.upper / "usr/sbin/policy-rc.d"
    policy.parent.mkdir(parents=True)
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    return found
