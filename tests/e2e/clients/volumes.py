"""What a tenant does with volumes: writes to one while it loses an OSD, and reads it by an instance on another host.

Usage: volumes.py HOST HOST GUEST LOOK... Prints, as JSON: SHA-256 of every block that was written, how many of them
without the OSD, and of what the other instance read; of a volume of an image, too; seconds; ids of that image and
volume. The command LOOK says what is in the pools (`pools`), kills an OSD (`lose`) and starts it again (`back`).
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openstack
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.guest import Guest
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.smoke import within
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.steps import Steps
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.tenant import Ground, Tenant, TenantOptions

MIB = 1024 * 1024
SIZE = 8 * MIB
WAIT = 240.0
_DISK = "/dev/vdb"
_SOME = 20  # blocks: enough to see that writes go on
# Four blocks in each object of Ceph's, so that every OSD leads some of them.
_BLOCK = "bs=65536 {word}=$((n * 16))"
_WRITE = f"""
cd ~; (n=0; while [ ! -e stop ] && [ $n -lt 1000 ]; do
  head -c 65536 /dev/urandom > block
  dd if=block of={_DISK} {_BLOCK.format(word="seek")} conv=fsync || break
  sha256sum < block >> sums; n=$((n + 1))
done; touch stopped) < /dev/null > /dev/null 2>&1 &
"""
_WRITTEN = "cd ~; touch stop; while [ ! -e stopped ]; do sleep 1; done; cat sums"
_READ = f"""
n=0; while [ $n -lt %d ]; do
  dd if={_DISK} {_BLOCK.format(word="skip")} count=1 2> /dev/null | sha256sum; n=$((n + 1))
done
"""


class Volumes(Tenant):
    """Two instances, and volumes between them."""

    def walk(self, hosts: list[str], look: list[str]) -> dict[str, Any]:
        """Return what was seen."""

        def told(word: str) -> Any:
            done = subprocess.run([*look, word], check=False, capture_output=True, text=True, timeout=WAIT)
            assert done.returncode == 0, done.stdout + done.stderr
            return json.loads(done.stdout)

        ground = self.prepare(chooses=True)
        servers = [self.create(ground, name=f"{self.name}-{host}", host=host) for host in hosts]
        image = os.urandom(SIZE)
        seconds: dict[str, float] = {}
        with self.steps.step("volume", layer="compute"):
            empty = self._volume(seconds, "empty volume", size=1)
        with self.steps.step("clone", layer="image"):
            made = self._raw(image)
            clone = self._volume(seconds, "volume of an image", size=1, image_id=made)
        # Whoever sees the pools looks now: afterwards there is nothing to be seen.
        looked = told("pools")
        with self.steps.step("instances", layer="compute"):
            first, second = (self._guest(ground, server) for server in servers)
        try:
            with self.steps.step("written", layer="guest"):
                self._attach(seconds, servers[0], empty, first)
                assert not first.ask(_WRITE).fault
                self._more(first)
                told("lose")
                with_it, without = self._more(first)
                written = self._sums(first, _WRITTEN)
                self._detach(seconds, servers[0], empty, first)
            with self.steps.step("read elsewhere", layer="guest"):
                self._attach(seconds, servers[1], empty, second)
                read = self._sums(second, _READ % len(written))
                self._detach(seconds, servers[1], empty, second)
                self._attach(seconds, servers[1], clone, second)
                copy = self._read(second)
                self._detach(seconds, servers[1], clone, second)
        finally:
            told("back")
        found = {"written": written, "without": without - with_it, "read": read, "copy": copy}
        ids = {"sent": hashlib.sha256(image).hexdigest(), "image": made, "clone": clone}
        return {**found, **ids, "seconds": seconds, "looked": looked}

    def _more(self, guest: Guest) -> tuple[int, int]:
        """Wait until some more blocks are written; return how many there were, and are."""
        seen: list[int] = []

        def few() -> bool:
            said = guest.ask("wc -l < ~/sums")
            seen.extend([] if said.fault else [int(said.data)])
            return not seen or seen[-1] < seen[0] + _SOME

        assert not wait_until(few, timeout=WAIT, pause=0.5), f"blocks: {seen}"
        return seen[0], seen[-1]

    def _sums(self, guest: Guest, words: str) -> list[str]:
        said = guest.ask(words, timeout=4 * WAIT)  # a process for each of many blocks
        assert not said.fault, said
        return [line.split()[0] for line in said.data.decode().splitlines()]

    def _raw(self, content: bytes) -> str:
        path = self.directory / "raw"
        path.write_bytes(content)
        image = self.tenant.image.create_image(
            f"{self.name}-raw", filename=str(path), disk_format="raw", container_format="bare",
            visibility="private", allow_duplicates=True, wait=True, timeout=WAIT,
        )  # fmt: skip
        return str(image["id"])

    def _volume(self, seconds: dict[str, float], name: str, **wanted: Any) -> str:
        began, storage = time.monotonic(), self.tenant.block_storage
        volume = storage.create_volume(name=self.name, **wanted)["id"]
        self._until(lambda: storage.get_volume(volume)["status"], ("available",), name)
        seconds[name] = round(time.monotonic() - began, 1)
        return str(volume)

    def _until(self, now: Callable[[], Any], good: tuple[str, ...], what: str) -> None:
        seen = [""]

        def other() -> bool:
            seen[0] = str(now())
            return seen[0] not in (*good, "error", "ERROR")

        wait_until(other, timeout=WAIT, pause=0.5)
        assert seen[0] in good, f"{what}: {seen[0]}"

    def _guest(self, ground: Ground, server: Any) -> Guest:
        compute = self.tenant.compute
        self._until(lambda: compute.get_server(server["id"])["status"], ("ACTIVE",), server["name"])
        address = self.floating_ip(ground, server)
        guest = Guest(address=address, user=self.options.user, directory=self.directory)
        last = wait_until(lambda: guest.ask("true").fault, timeout=WAIT, pause=1.0)
        assert not last, f"{server['name']} at {address}: {last}"
        return guest

    def _attach(self, seconds: dict[str, float], server: Any, volume: str, guest: Guest) -> None:
        began = time.monotonic()
        self.tenant.compute.create_volume_attachment(server["id"], volume_id=volume)
        last = wait_until(lambda: guest.ask(f"test -w {_DISK}").fault, timeout=WAIT, pause=0.5)
        assert not last, f"no {_DISK} in the guest: {last}"
        # The guest sees it before Nova and Cinder are done, and until then neither lets it go.
        self._until(lambda: self.tenant.block_storage.get_volume(volume)["status"], ("in-use",), "attached volume")
        seconds.setdefault("attached", round(time.monotonic() - began, 1))

    def _detach(self, seconds: dict[str, float], server: Any, volume: str, guest: Guest) -> None:
        began, storage = time.monotonic(), self.tenant.block_storage
        self.tenant.compute.delete_volume_attachment(server["id"], volume)
        self._until(lambda: storage.get_volume(volume)["status"], ("available",), "detached volume")
        # Nova forgets it after Cinder does, and refuses until then to attach it elsewhere.
        held = self.tenant.compute.volume_attachments
        assert not wait_until(
            lambda: [one for one in held(server["id"]) if one["volume_id"] == volume], timeout=WAIT, pause=0.5
        )
        stays = wait_until(lambda: not guest.ask(f"test -b {_DISK}").fault, timeout=WAIT, pause=0.5)
        assert not stays, "it has left the guest, too"
        seconds.setdefault("detached", round(time.monotonic() - began, 1))

    def _read(self, guest: Guest) -> str:
        # Not what the guest remembers of it.
        words = f"blockdev --flushbufs {_DISK} 2>/dev/null; head -c {SIZE} {_DISK} | sha256sum"
        said = guest.ask(words, timeout=WAIT)
        assert not said.fault, said
        return said.data.decode().split()[0]


def main() -> None:
    """Do it all, and delete it all."""
    first, second, image, *look = sys.argv[1:]
    options = TenantOptions(image=Path(image), user="guest", timeout=WAIT)
    steps = Steps(lambda line: print(line, file=sys.stderr, flush=True))
    print(json.dumps(within(Volumes, openstack.connect(), options, steps, lambda it: it.walk([first, second], look))))


if __name__ == "__main__":
    main()
