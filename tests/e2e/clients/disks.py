"""What a tenant does whose disks and backups are in Ceph: moves an instance that writes, restores a lost volume, and
finds its instance on another host when its own has died, which the command LOOK sees to.

Usage: disks.py moved|backup|evacuated HOST HOST GUEST LOOK... Prints, as JSON: what was written and read, by SHA-256 or
block by block; seconds; ids; what the command LOOK says of instance or volume before and after.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import openstack
from ansible_collections.groundup.cloud.plugins.module_utils._base.wait import wait_until
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.guest import Guest
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.smoke import within
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.steps import Steps
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.tenant import TenantOptions
from ansible_collections.groundup.cloud.tests.e2e.clients.volumes import SIZE, WAIT, Volumes

# Blocks are read back from the disk, not from what the guest remembers of it.
_BLOCKS = """
cd ~; (n=0; while [ ! -e stop ]; do
  head -c 65536 /dev/urandom > block.$n; echo "$(sha256sum < block.$n) block.$n" >> sums; sync; n=$((n + 1))
done) < /dev/null > /dev/null 2>&1 &
sleep 1
"""
_SOME = """
cd ~; n=0; while [ $n -lt 20 ]; do
  head -c 65536 /dev/urandom > block.$n; echo "$(sha256sum < block.$n) block.$n" >> sums; n=$((n + 1))
done; sync
"""
_READ = """
cd ~; touch stop; sleep 2; sync
while read -r sum _ name; do
  [ "$(dd if=$name bs=65536 iflag=direct 2> /dev/null | sha256sum)" = "$sum  -" ] && echo same || echo "$name"
done < sums
"""


class Disks(Volumes):
    """One instance that moves, then volumes of it."""

    look: list[str]
    seconds: dict[str, float]

    def see(self, what: str, hosts: list[str], look: list[str]) -> dict[str, Any]:
        """Return what was seen of a move, or of backups."""
        self.look, self.seconds = look, {}
        self.options = self._as_raw()
        ground = self.prepare(chooses=True)
        began = time.monotonic()
        server = self.create(ground, name=self.name, host=hosts[0])
        guest = self._guest(ground, server)
        self.seconds["instance answers"] = round(time.monotonic() - began, 1)
        if what == "evacuated":
            found = self._evacuated(server, guest)
        else:
            found = self._moved(server, guest, hosts[1]) if what == "moved" else self._backed_up(server, guest)
        return {"image": ground.image["id"], "seconds": self.seconds, **found}

    def _as_raw(self) -> TenantOptions:
        """Return the options with the image as the guide of volumes has it: Ceph clones no other."""
        raw = self.directory / "guest.raw"
        command = ["qemu-img", "convert", "-O", "raw", str(self.options.image), str(raw)]
        subprocess.run(command, check=True, capture_output=True)
        return TenantOptions(image=raw, user=self.options.user, timeout=self.options.timeout)

    def _image(self) -> Any:
        return self.tenant.image.create_image(
            self.name, filename=str(self.options.image), disk_format="raw", container_format="bare",
            visibility="private", allow_duplicates=True, wait=True, timeout=WAIT, hw_rng_model="virtio",
        )  # fmt: skip

    def _looked(self, what: str, name: str) -> Any:
        done = subprocess.run([*self.look, what, name], check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    def _moved(self, server: Any, guest: Guest, there: str) -> dict[str, Any]:
        """Move the instance while it writes; return what was on its disk, and where that was."""
        compute, moved = self.admin.compute, {"before": self._looked("disk", server["id"])}
        with self.steps.step("live migration", layer="compute"):
            assert not guest.ask(_BLOCKS).fault
            began = time.monotonic()
            compute.live_migrate_server(server["id"], block_migration="auto")
            copied: set[int] = set()

            def moves() -> bool:
                copied.update(int(one["disk_total_bytes"] or 0) for one in compute.server_migrations(server["id"]))
                found = compute.get_server(server["id"])
                return bool(found["task_state"]) or found["status"] == "MIGRATING"

            assert not wait_until(moves, timeout=WAIT, pause=0.5), "it moves no more"
            self.seconds["live migration"] = round(time.monotonic() - began, 1)
            found = compute.get_server(server["id"])
            assert (found["status"], found["compute_host"]) == ("ACTIVE", there)
        with self.steps.step("read there", layer="guest"):
            last = wait_until(lambda: guest.ask("true").fault, timeout=WAIT, pause=1.0)
            assert not last, last
            said = guest.ask(_READ, timeout=WAIT)
            assert not said.fault, said
        blocks = said.data.decode().split()
        return {**moved, "after": self._looked("disk", server["id"]), "blocks": blocks, "copied": sorted(copied)}

    def _evacuated(self, server: Any, guest: Guest) -> dict[str, Any]:
        """Write to the instance's disk, have its host die; return where it is then, and what is on the disk."""
        assert not guest.ask(_SOME, timeout=WAIT).fault
        began = time.monotonic()
        self._looked("evacuated", server["id"])
        last = wait_until(lambda: guest.ask("true").fault, timeout=WAIT, pause=1.0)
        assert not last, last
        self.seconds["it answers again, since its host died"] = round(time.monotonic() - began, 1)
        said = guest.ask(_READ, timeout=WAIT)
        assert not said.fault, said
        return {
            "host": self.admin.compute.get_server(server["id"])["compute_host"],
            "blocks": said.data.decode().split(),
        }

    def _backed_up(self, server: Any, guest: Guest) -> dict[str, Any]:
        """Write a volume, take a snapshot, clones and backups of it, delete it; return what a restored one holds."""
        storage, written = self.tenant.block_storage, [os.urandom(SIZE), os.urandom(SIZE)]
        with self.steps.step("volume", layer="compute"):
            volume = self._volume(self.seconds, "empty volume", size=1)
            self._write(server, guest, volume, written[0])
            snapshot = storage.create_snapshot(volume_id=volume, name=self.name)["id"]
            self._until(lambda: storage.get_snapshot(snapshot)["status"], ("available",), "snapshot")
            of_snapshot = self._volume(self.seconds, "volume of a snapshot", size=1, snapshot_id=snapshot)
        with self.steps.step("backups", layer="compute"):
            first = self._backup(volume, "backup")
            self._write(server, guest, volume, written[1])
            second = self._backup(volume, "incremental backup", is_incremental=True)
            of_volume = self._volume(self.seconds, "volume of a volume", size=1, source_volume_id=volume)
        looked = {one: self._looked("volume", one) for one in (of_snapshot, of_volume)}
        try:
            with self.steps.step("deleted", layer="compute"):
                found = {"snapshot": self._content(server, guest, of_snapshot)}
                found["volume"] = self._content(server, guest, of_volume)
                for one in (of_snapshot, of_volume):
                    self._delete(storage.volumes, storage.delete_volume, one)
                self._delete(storage.snapshots, storage.delete_snapshot, snapshot)
                self._delete(storage.volumes, storage.delete_volume, volume)
            with self.steps.step("restored", layer="compute"):
                for name, backup in {"full": first, "incremental": second}.items():
                    found[name] = self._content(server, guest, self._restored(backup))
        finally:
            for one in (second, first):  # the newer one stands on the other
                self._delete(storage.backups, storage.delete_backup, one)
        sent = [hashlib.sha256(one).hexdigest() for one in written]
        return {"sent": sent, "found": found, "looked": looked, "source": volume}

    def _write(self, server: Any, guest: Guest, volume: str, content: bytes) -> None:
        self._attach(self.seconds, server, volume, guest)
        (self.directory / "payload").write_bytes(content)
        with (self.directory / "payload").open("rb") as stream:
            said = guest.ask("dd of=/dev/vdb bs=1M conv=fsync 2>&1", timeout=WAIT, stdin=stream)
        assert not said.fault, said
        self._detach(self.seconds, server, volume, guest)

    def _content(self, server: Any, guest: Guest, volume: str) -> str:
        self._attach(self.seconds, server, volume, guest)
        found = self._read(guest)
        self._detach(self.seconds, server, volume, guest)
        return found

    def _backup(self, volume: str, what: str, **how: Any) -> str:
        began, storage = time.monotonic(), self.tenant.block_storage
        backup = str(storage.create_backup(volume_id=volume, name=self.name, **how)["id"])
        self._until(lambda: storage.get_backup(backup)["status"], ("available",), what)
        self.seconds[what] = round(time.monotonic() - began, 1)
        return backup

    def _restored(self, backup: str) -> str:
        began, storage = time.monotonic(), self.tenant.block_storage
        volume = str(storage.restore_backup(backup, name=self.name)["volume_id"])
        self._until(lambda: storage.get_volume(volume)["status"], ("available",), "restored volume")
        self.seconds.setdefault("restored volume", round(time.monotonic() - began, 1))
        return volume

    def _delete(self, listed: Any, delete: Any, name: str) -> None:
        delete(name)
        late = wait_until(lambda: name in {one["id"] for one in listed()}, timeout=WAIT, pause=0.5)
        assert not late, f"{name} is still there"


def main() -> None:
    """Do it all, and delete it all."""
    what, first, second, image, *look = sys.argv[1:]
    options = TenantOptions(image=Path(image), user="guest", timeout=WAIT)
    steps = Steps(lambda line: print(line, file=sys.stderr, flush=True))
    print(
        json.dumps(within(Disks, openstack.connect(), options, steps, lambda it: it.see(what, [first, second], look)))
    )


if __name__ == "__main__":
    main()
