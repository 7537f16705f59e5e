"""A package of its own that a test of groundup.cloud.patch has hosts upgrade; its process is a unit."""

from __future__ import annotations

import base64
import shutil
import subprocess
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.pki import openpgp
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.builders.debian_packages import index
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish import snapshots
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish.snapshots import Snapshot
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store
from ansible_collections.groundup.cloud.tests.e2e.cluster import play
from ansible_collections.groundup.cloud.tests.e2e.failover import Connect, root

NAME, OLD, NEW = "groundup-dummy", "1.0-1", "1.0-2"
NEXT = Snapshot(name="2099-01-01-dddddddd", sha256="d" * 64)
UNIT = f"[Service]\nExecStart=/usr/sbin/{NAME} infinity\n[Install]\nWantedBy=multi-user.target\n"


def package(directory: Path, version: str) -> Path:
    """Build the package in ``directory``."""
    tree = directory / version
    for name in ("DEBIAN", "usr/sbin", "usr/lib/systemd/system"):
        (tree / name).mkdir(parents=True)
    fields = {"Package": NAME, "Version": version, "Architecture": "amd64", "Maintainer": "t <t@t>", "Description": "t"}
    (tree / "DEBIAN/control").write_text("".join(f"{key}: {value}\n" for key, value in fields.items()))
    shutil.copy2("/usr/bin/sleep", tree / "usr/sbin" / NAME)
    (tree / f"usr/lib/systemd/system/{NAME}.service").write_text(UNIT)
    subprocess.run(["dpkg-deb", "--build", "--root-owner-group", tree, directory], check=True, capture_output=True)
    (found,) = directory.glob(f"*_{version}_*.deb")
    return found


def send(host: Any, content: bytes, command: str) -> None:
    """Have ``command`` read ``content`` on a host."""
    root(host, f"echo {base64.b64encode(content).decode()} | base64 --decode | {command}")


@contextmanager
def offering(
    plan: Plan, having: Sequence[str], connect: Connect, made: Path, *, runs: Collection[str]
) -> Iterator[None]:
    """Have the former version on hosts, the newer one in the site's snapshot; of ``runs``, its unit runs."""
    before = snapshots.load(plan.site)
    former, newer = package(made, OLD).read_bytes(), package(made, NEW)
    (path,) = plan.supply.packages.values()
    assert plan.supply.seed
    seed, place = connect(plan.supply.seed), f"{plan.supply.files_root}/{snapshots.place(path, NEXT)}"
    suite = root(seed, f"ls {plan.supply.files_root}/{snapshots.place(path, before[path][0])}/dists").strip()
    tree = made / "tree"
    tree.mkdir()
    index(tree, [newer], suite=suite, epoch=0)
    release = tree / f"dists/{suite}/Release"
    signed = openpgp.sign_release(open_store(plan.site), made, "signed", release.read_text())
    release.with_name("InRelease").write_text(signed)
    archive = subprocess.run(["tar", "--create", "--gzip", "--directory", tree, "."], check=True, capture_output=True)
    try:
        for name in having:
            send(connect(name), former, f"cat > /root/{NAME}.deb && dpkg --install /root/{NAME}.deb")
            if name in runs:
                root(connect(name), f"systemctl daemon-reload && systemctl start {NAME}")
        send(seed, archive.stdout, f"(mkdir -p {place} && tar --extract --gzip --no-same-owner --directory {place})")
        snapshots.save(plan.site, {**before, path: [NEXT, before[path][0]]})
        yield
    finally:
        snapshots.save(plan.site, before)
        root(seed, f"rm -rf {place}")
        for name in having:
            root(connect(name), f"systemctl stop {NAME} || true; dpkg --purge {NAME}; rm -f /root/{NAME}.deb")
            root(connect(name), "systemctl daemon-reload")
        play("host")


def versions(connect: Connect, having: tuple[str, ...]) -> dict[str, str]:
    """Return the version of the package on each host."""
    return {name: root(connect(name), f"dpkg-query -W -f '${{Version}}' {NAME}") for name in having}


def since(connect: Connect, name: str) -> str:
    """Return since when the unit runs, and the file of its program."""
    pid = root(connect(name), f"systemctl show --property MainPID --value {NAME}").strip()
    return root(connect(name), f"stat --format %Y /proc/{pid}; readlink /proc/{pid}/exe")
