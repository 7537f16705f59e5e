"""Images as they were built: their layers unpacked once a session, run in namespaces on a read-only root.

An image that this machine has not built is a skipped test, never a build: `make test` builds first.
"""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.artifact import Artifact
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.store import ArtifactStore
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import load_lock
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.keys import keys

# As a container runtime lays it out: the root read-only, /tmp writable, the rest mounted path by path.
_ENTER = """
root=$1 user=$2; shift 2
mount --bind "$root" "$root"
mount --rbind /dev "$root/dev"; mount -t proc proc "$root/proc"; mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
while [ "$1" != -- ]; do mount --bind "$2" "$root$1"; shift 2; done; shift
mount -o remount,bind,ro "$root"
ip link set lo up
# Not `exec`: who becomes another user loses the signal by which it would end with this test (PR_SET_PDEATHSIG).
chroot --userspec="$user:$user" "$root" "$@" || exit; exit 0
"""


@dataclass(frozen=True)
class Image:
    """An unpacked image."""

    root: Path
    env: Mapping[str, str]

    def command(self, argv: Sequence[str], *, uid: int, mounts: Mapping[str, Path] | None = None) -> list[str]:
        """Return the command line that runs ``argv`` in the image, without network but loopback."""
        pairs = [word for inside, outside in (mounts or {}).items() for word in (inside, str(outside))]
        for inside in mounts or {}:
            (self.root / inside.lstrip("/")).mkdir(parents=True, exist_ok=True)
        namespaces = ["--mount", "--pid", "--net", "--uts", "--fork", "--kill-child=KILL", "--propagation=private"]
        enter = ["unshare", *namespaces, "--", "sh", "-euc", _ENTER, "sh"]
        return [*enter, str(self.root), str(uid), *pairs, "--", *argv]

    def run(
        self,
        *argv: str,
        uid: int = 65534,
        mounts: Mapping[str, Path] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run ``argv`` to its end; what it says on either stream is ``stdout``."""
        return subprocess.run(
            self.command(argv, uid=uid, mounts=mounts), env={"HOME": "/tmp", **self.env, **(env or {})},  # noqa: S108  # in the image's own root
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1800, check=False,
        )  # fmt: skip


@pytest.fixture(scope="session")
def artifact() -> Callable[[str], Artifact]:
    """Return a stored artifact, or skip."""
    lock = load_lock()
    store = ArtifactStore()

    def find(name: str) -> Artifact:
        key = keys(lock, lock.closure((name,)))[name]
        found = store.find(lock.artifacts[name], key)
        if found is None:
            pytest.skip(f"{name} is not built on this machine")
        return found

    return find


@pytest.fixture(scope="session")
def image(artifact: Callable[[str], Artifact], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Image]:
    """Return an image by its name in the lock, unpacked; skip when it is not built or this is not root."""
    unpacked: dict[str, Image] = {}

    def unpack(name: str) -> Image:
        if os.geteuid() != 0:
            pytest.skip("running an image's programs needs root")
        if name not in unpacked:
            place = tmp_path_factory.mktemp(name)
            place.chmod(0o755)
            place.parent.chmod(0o755)
            unpacked[name] = unpack_image(artifact(name).path, place)
        return unpacked[name]

    return unpack


@pytest.fixture(scope="session")
def root(artifact: Callable[[str], Artifact], tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a root file system of the lock, unpacked; skip when it is not built or this is not root."""

    def unpack(name: str) -> Path:
        if os.geteuid() != 0:
            pytest.skip("running a root's programs needs root")
        place = tmp_path_factory.mktemp(name)
        place.chmod(0o755)
        place.parent.chmod(0o755)
        subprocess.run(["tar", "-x", "--zstd", "--numeric-owner", "-C", place, "-f", artifact(name).path], check=True)
        return place

    return unpack


def unpack_image(archive: Path, place: Path) -> Image:
    """Unpack an OCI archive."""
    with tarfile.open(archive) as tar:
        manifest, config = describe(tar)
        for layer in manifest["layers"]:
            stream = tar.extractfile("blobs/" + layer["digest"].replace(":", "/"))
            assert stream is not None
            unpack = ["tar", "-x", "--zstd", "--numeric-owner", "-C", str(place)]
            with subprocess.Popen(unpack, stdin=subprocess.PIPE) as process:
                assert process.stdin is not None
                while chunk := stream.read(1 << 20):
                    process.stdin.write(chunk)
                process.stdin.close()
            assert process.returncode == 0
    for marker in list(place.rglob(".wh.*")):
        (marker.parent / marker.name.removeprefix(".wh.")).unlink(missing_ok=True)
        marker.unlink()
    for directory in ("dev", "proc", "tmp"):
        (place / directory).mkdir(exist_ok=True)
    return Image(place, dict(entry.split("=", 1) for entry in config["config"]["Env"]))


def describe(tar: tarfile.TarFile) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return manifest and configuration of an OCI archive."""

    def read(name: str) -> dict[str, Any]:
        stream = tar.extractfile(name)
        assert stream is not None
        return dict(json.load(stream))

    manifest = read("blobs/" + read("index.json")["manifests"][0]["digest"].replace(":", "/"))
    return manifest, read("blobs/" + manifest["config"]["digest"].replace(":", "/"))
