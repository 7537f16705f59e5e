"""A real Ceph of storage hosts' packages on loopback: monitors, OSDs and a manager in one root, with memory for disks.

It lives in namespaces of its own, and ends with them.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

ROOT = Path(__file__).resolve().parents[3]
FSID = "5f1c0a3e-93f4-4b0e-8f0e-0a4d2f1f7c11"
PATIENCE = 240
# With the tests that started it, also when these are killed.
ENDS = ("setpriv", "--pdeathsig", "KILL", "--")
# Stands in for the root of a storage host: nothing that is written stays.
_ENTER = """
lower=$1 place=$2 collection=$3
mount -t tmpfs tmpfs "$place"
mkdir "$place/upper" "$place/work" "$place/root"
mount -t overlay overlay -o "lowerdir=$lower,upperdir=$place/upper,workdir=$place/work" "$place/root"
root=$place/root
for one in run tmp var/lib/ceph var/log/ceph; do mount -t tmpfs tmpfs "$root/$one"; done
mount --rbind /dev "$root/dev"; mount -t proc proc "$root/proc"
mkdir -p "$root/run/ceph" "$root/srv/ansible_collections/groundup/cloud"
mount --bind "$collection" "$root/srv/ansible_collections/groundup/cloud"
ip link set lo up
echo ready
exec sleep infinity
"""
_START = r"""
monitors=$1 osds=$2
key() { ceph-authtool --create-keyring "$@" > /dev/null; }
admin=/etc/ceph/ceph.client.admin.keyring
key $admin --gen-key -n client.admin --cap mon 'allow *' --cap osd 'allow *' --cap mgr 'allow *'
key /tmp/mon --gen-key -n mon. --cap mon 'allow *'
ceph-authtool /tmp/mon --import-keyring $admin > /dev/null
monmaptool --create --fsid "$(ceph-conf --lookup fsid)" /tmp/map > /dev/null
for n in $(seq "$monitors"); do
  monmaptool --addv "m$n" "[v2:127.0.0.$n:3300,v1:127.0.0.$n:6789]" /tmp/map > /dev/null
done
mkdir -p /var/lib/ceph/mon /var/lib/ceph/osd /var/lib/ceph/mgr/ceph-x
for n in $(seq "$monitors"); do
  mkdir -p "/var/lib/ceph/mon/ceph-m$n"
  ceph-mon --mkfs -i "m$n" --monmap /tmp/map --keyring /tmp/mon
  ceph-mon -i "m$n"
done
ceph auth get-or-create mgr.x mon 'profile mgr' osd 'allow *' mds 'allow *' -o /var/lib/ceph/mgr/ceph-x/keyring
ceph-mgr -i x
started=
for n in $(seq 0 $((osds - 1))); do
  place=/var/lib/ceph/osd/ceph-$n; mkdir -p "$place"
  id=$(cat /proc/sys/kernel/random/uuid)
  ceph osd new "$id" > /dev/null
  key "$place/keyring" --gen-key -n "osd.$n" --cap mon 'profile osd' --cap osd 'allow *' --cap mgr 'profile osd'
  ceph auth import -i "$place/keyring" 2> /dev/null
  { ceph-osd -i "$n" --mkfs --osd-uuid "$id" 2> /dev/null; ceph-osd -i "$n" > /dev/null; } &
  started="$started $!"
done
for one in $started; do wait "$one"; done
"""
# A module's work, as on a host: options come as JSON, what is raised goes back as text.
_DRIVER = """
import importlib, json, sys
given = json.load(sys.stdin)
base = "ansible_collections.groundup.cloud.plugins.module_utils."
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._ceph.cluster import connected
from ansible_collections.groundup.cloud.plugins.module_utils._plan import ceph, decode
changes = Changes(check=given.pop("check"))
if "ceph" in given:
    given["ceph"] = decode.from_dict(ceph.CephPlan, given["ceph"], "ceph")
module, _, name = given.pop("call").rpartition(".")
work, admin = getattr(importlib.import_module(base + module), name), given.pop("admin", None)
try:
    if admin:
        with connected("client.admin", **admin) as cluster:
            reads = name in ("cards", "images", "silent", "unsafe", "watchers")
            found = work(cluster, **given) if reads else work(cluster, changes, **given)
            result = {"result": [str(one) for one in found] if name == "cards" else found}  # it returns errors
    else:
        result = {"result": work(changes, **given)}
except GroundupError as error:
    result = {"error": str(error)}
print(json.dumps({**result, "changes": changes.done, "warnings": changes.warnings}))
"""
# What the program `ceph` does, without its start for each question: a line of JSON each.
_ASK = """
import json, sys
import ceph_argparse, rados
cluster = rados.Rados(name="client.admin", conffile="/etc/ceph/ceph.conf", conf={"rados_mon_op_timeout": "60"})
cluster.connect(timeout=60)
known = ceph_argparse.json_command(cluster, prefix="get_command_descriptions")[1]
known = ceph_argparse.parse_json_funcsigs(known.decode(), "cli")
for line in sys.stdin:
    found = ceph_argparse.validate_command(known, json.loads(line))
    code, answer, said = cluster.mon_command(json.dumps({**found, "format": "json"}), b"")
    print(json.dumps({"code": code, "answer": answer.decode(), "said": said}), flush=True)
"""
CONF = {
    "fsid": FSID,
    "osd_pool_default_size": 2,
    "osd_pool_default_min_size": 1,
    "osd_crush_chooseleaf_type": 0,
    "osd_pool_default_pg_num": 1,
    "osd_pool_default_pg_autoscale_mode": "off",
    "osd_mclock_skip_benchmark": "true",
    "bluestore_block_size": 2 * 1024**3,
    "mon_data_avail_crit": 1,
    "mon_data_avail_warn": 1,
    "auth_allow_insecure_global_id_reclaim": "false",
    "mgr_initial_modules": "iostat",
    # What is waited for most: a second of the monitors before each change of a map; that OSDs tell how they are, and
    # how full, and the manager the monitors.
    "paxos_propose_interval": 0.05,
    "mgr_stats_period": 1,
    "mgr_tick_period": 1,
    "osd_heartbeat_interval": 1,
    "osd_mon_report_interval": 1,
    "bdev_aio_poll_ms": 10,  # of a quarter of a second, which each store waits for each time it is closed
}


class Loopback:
    """The cluster."""

    def __init__(self, lower: Path, place: Path, *, bcrypt: tuple[Path, str], monitors: int = 1, osds: int = 2) -> None:
        self.monitors = [f"127.0.0.{number}" for number in range(1, monitors + 1)]
        self.given = {"monitors": monitors, "osds": osds}
        self._lower, self._place, self._bcrypt = lower, place, bcrypt
        self._init: subprocess.Popen[str] | None = None
        self._asking: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        """Start it, and return when a quorum answers and OSDs are in."""
        namespaces = ["--mount", "--pid", "--net", "--fork", "--kill-child=KILL", "--propagation=private"]
        arguments = [str(self._lower), str(self._place), str(ROOT)]
        self._init = subprocess.Popen(
            [*ENDS, "unshare", *namespaces, "--", "sh", "-euc", _ENTER, "sh", *arguments],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._init.stdout is not None
        assert self._init.stdout.readline() == "ready\n"
        conf = {**CONF, "mon_host": ",".join(self.monitors)}
        text = "[global]\n" + "".join(f"{name} = {value}\n" for name, value in conf.items())
        self.run("mkdir -p /etc/ceph; cat > /etc/ceph/ceph.conf", given=text)
        path, source = self._bcrypt
        self.run(f"mkdir -p {path.parent}; cat > {path}", given=source)
        self.run(_START, *(str(one) for one in self.given.values()))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End everything in it."""
        assert self._init is not None
        self._init.kill()  # and with it all that runs there
        self._init.wait()
        if self._asking:
            self._asking.communicate()

    def command(self, *argv: str) -> list[str]:
        """Return the command line that runs ``argv`` in it."""
        assert self._init is not None
        children = Path(f"/proc/{self._init.pid}/task/{self._init.pid}/children").read_text().split()
        return ["nsenter", "-t", children[0], "-m", "-p", "-n", "chroot", str(self._place / "root"), *argv]

    def put(self, path: str, content: bytes) -> None:
        """Write a file in it."""
        subprocess.run(self.command("sh", "-euc", 'cat > "$1"', "sh", path), input=content, check=True)

    def run(self, script: str, *argv: str, given: str = "", timeout: int = PATIENCE) -> str:
        """Run a shell script and return what it says."""
        done = subprocess.run(
            self.command("sh", "-euc", script, "sh", *argv), input=given, text=True, timeout=timeout, check=False,
            capture_output=True, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
        )  # fmt: skip
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def ask(self, *argv: str) -> Any:
        """Return what the cluster's administrator is answered."""
        if self._asking is None:
            pipe = subprocess.PIPE
            self._asking = subprocess.Popen(self.command("python3", "-c", _ASK), stdin=pipe, stdout=pipe, text=True)
        assert self._asking.stdin
        assert self._asking.stdout
        self._asking.stdin.write(json.dumps(argv) + "\n")
        self._asking.stdin.flush()
        said = json.loads(self._asking.stdout.readline())
        assert said["code"] == 0, (argv, said)
        return json.loads(said["answer"] or "null")

    def administered(self, name: str, /, *, check: bool = False, **options: Any) -> dict[str, Any]:
        """`call` a function whose first argument is the cluster."""
        monitors = {f"m{number}": address for number, address in enumerate(self.monitors, start=1)}
        key = self.run("exec ceph-authtool --print-key --name client.admin /etc/ceph/ceph.client.admin.keyring")
        admin = {"key": key.strip(), "monitors": monitors, "timeout": 30}
        return self.call(name, check=check, admin=admin, **options)

    def call(self, name: str, /, *, check: bool = False, **options: Any) -> dict[str, Any]:
        """Run ``name`` of our ``module_utils`` in it, as a module does; return what it ended with."""
        given = json.dumps({"call": name, "check": check, **options})
        said = self.run('PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=/srv exec python3 -c "$1"', _DRIVER, given=given)
        found: dict[str, Any] = json.loads(said.strip().splitlines()[-1])
        return found

    def key(self, user: str, caps: Mapping[str, str] | None = None) -> str:
        """Return the key of a user; made with ``caps``."""
        allowed: Sequence[str] = [word for pair in (caps or {}).items() for word in pair]
        return str(self.ask("auth", "get-or-create", user, *allowed)[0]["key"])
