"""A real Ceph: its maps and keys as a part of a set; its object gateway as the bucket that sets are copied to."""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
import sys
import tarfile
from datetime import timedelta
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.plugins.module_utils._ceph import backup
from ansible_collections.groundup.cloud.tests.unit.ceph.host import PLAN

from . import bucket
from .loopback import FSID, Loopback

# The gateway on loopback, and a user of S3.
_GATEWAY = """
mkdir -p /var/lib/ceph/radosgw
ceph auth get-or-create client.rgw mon 'allow rw' osd 'allow rwx' -o /tmp/rgw.keyring
setsid radosgw -n client.rgw -k /tmp/rgw.keyring --rgw-frontends 'beast endpoint=127.0.0.1:7480' \
  >/tmp/rgw.log 2>&1 </dev/null
for _ in $(seq 600); do (exec 3<>/dev/tcp/127.0.0.1/7480) 2>/dev/null && break; sleep 0.2; done
radosgw-admin -n client.rgw -k /tmp/rgw.keyring user create --uid=backups --display-name=backups 2>/dev/null
"""
_BUCKET = """
import os
from minio import Minio
keys = {"access_key": os.environ["ACCESS"], "secret_key": os.environ["SECRET"]}
Minio("127.0.0.1:7480", **keys, secure=False).make_bucket("sets")
"""
SITE = Path(__file__).resolve().parents[3] / "inventories/lab/site.yml"


def test_maps_keys_and_configuration_are_whole_and_a_dry_run_reads_none(ceph: Loopback) -> None:
    key = ceph.run("exec ceph-authtool --print-key --name client.admin /etc/ceph/ceph.client.admin.keyring").strip()
    monitors = [{"name": "m1", "address": ceph.monitors[0]}]
    given = {"ceph": {**PLAN, "fsid": FSID, "monitors": monitors}, "key": key}
    looked = ceph.call("_ceph.backup.take", check=True, given=given)["result"]
    assert (looked["fsid"], "content" in looked) == (FSID, False)
    ceph.run("ceph config-key set dm-crypt/osd/x/luks word")
    content = base64.b64decode(ceph.call("_ceph.backup.take", given=given)["result"]["content"])
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        files = {one.name: (archive.extractfile(one) or io.BytesIO()).read() for one in archive}
    faults, counts = backup.judge(files, fsid=FSID)
    assert faults == []
    assert counts["osds"] == 2
    assert json.loads(files["config-key.json"])["dm-crypt/osd/x/luks"] == "word"
    ceph.put("/tmp/auth", files["auth.keyring"])  # noqa: S108 - in the cluster's root
    assert "osd.0" in ceph.run("ceph-authtool -l /tmp/auth")
    ceph.put("/tmp/crush", files["crushmap"])  # noqa: S108
    assert "host" in ceph.run("crushtool -d /tmp/crush")
    ceph.put("/tmp/monmap", files["monmap"])  # noqa: S108
    assert FSID in ceph.run("monmaptool --print /tmp/monmap")
    assert backup.judge(files, fsid=FSID.replace("5f", "6f"))[0] == ["monmap is of another cluster",
                                                                      "osdmap is of another cluster"]  # fmt: skip


def test_sets_are_copied_listed_removed_and_opened_at_a_real_gateway(ceph: Loopback, tmp_path: Path) -> None:
    user = json.loads(ceph.run(f"exec bash -euc {_quoted(_GATEWAY)}"))["keys"][0]
    (tmp_path / "password").write_text("of this test")
    environment = {
        **os.environ, "ACCESS": user["access_key"], "SECRET": user["secret_key"],
        "GROUNDUP_STATE": str(tmp_path / "states"), "ANSIBLE_VAULT_PASSWORD_FILE": str(tmp_path / "password"),
    }  # fmt: skip
    inside = ["nsenter", "-t", ceph.command()[2], "-n", "--", sys.executable]
    subprocess.run([*inside, "-c", _BUCKET], check=True, env=environment)
    argv = [*inside, str(Path(bucket.__file__)), str(SITE), str(tmp_path), "http://127.0.0.1:7480"]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    first, second, third, fourth = (f"{bucket.NOW + timedelta(days=day):%Y%m%dT%H%M%SZ}" for day in range(4))
    assert told["uploaded"] == [True, False], "once"
    assert told["grown"] < bucket.SIZE * 0.9, "memory does not grow with a part"
    assert (told["names"], told["faults"]) == ([fourth, third, second, first], [])
    assert told["torn"][0].startswith("part etcd has no of ")
    assert told["again"] is True
    assert (told["pruned"], told["left"]) == ([second], [fourth, third, first]), "the newest tested stays"
    assert (told["content"], told["only"]) == ("state", ["set.json", "state.sealed"])
    assert "there is no set 20200101T000000Z in the bucket" in told["unknown"]
    for case in ("no bucket", "nobody", "refused"):
        assert told[case].startswith("the bucket for backups does not work: "), case


def _quoted(script: str) -> str:
    return "'" + script.replace("'", "'\\''") + "'"
