"""MariaDB: the set's data into the first member's volume, what all members had aside, the others copy the first.

No member runs meanwhile, so nobody writes. What a volume had goes into a directory of it. Its name ends in `.sst`: the
server takes it for no database, and a state transfer keeps it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ....module_utils._base.wait import wait_until
from ...errors import GroundupError
from ...kube.client import Api
from ...kube.piped import Container, PodContainer
from ...kube.types import Object, resource_path
from ...kube.workloads import is_ready, pod_reason
from ..logs.replay import Replay
from ..sets import mariadb, scratch

SET, CLAIM = "mariadb-server", "mysql-data-mariadb-server"  # StatefulSet and claims, of our chart and OpenStack-Helm's
STATE, FORM_FROM = "mariadb-mariadb-state", "openstack.groundup.cloud/form-from"  # as the chart's galera_state.py
LABEL = "groundup.cloud/restore"
HOME = scratch.HOME
_MERGE = "application/merge-patch+json"
_DOWN, _FIRST, _ALL = 660.0, 600.0, 1800.0  # seconds: a server may take ten minutes to end; a copy takes its time
# The volume, the restore's name, size of the stream (0: only set aside); time to which binary logs are replayed ("":
# all); name, first byte and size of each, as they follow the stream. One connection replays them: it is there before
# grants are. `mysql` goes first and comes last: a volume without it holds no database, so that a member that is started
# in between neither runs nor forms a cluster with half.
SCRIPT = """\
set -euo pipefail
shopt -s nullglob dotglob
cd "$1"
kept=".before-restore-$2.sst"
[ ! -e "$kept/done" ] || exit 0
mkdir -p -m 700 "$kept/data"
if [ "$3" != 0 ] && [ ! -e "$kept/prepared" ]; then
  rm -rf "$kept/new"; mkdir -m 700 "$kept/new"
  head -c "$3" | { mbstream -x -C "$kept/new" || { cat >/dev/null; exit 2; }; }
  mariadb-backup --prepare --use-memory=64M --target-dir="$kept/new" >/tmp/prepare.log 2>&1 \
    || { tail -n 3 /tmp/prepare.log >&2; exit 3; }
  if [ $# -gt 4 ]; then
    mariadbd --defaults-file="$kept/new/backup-my.cnf" --datadir="$PWD/$kept/new" --socket=/tmp/replay.sock \
      --pid-file=/tmp/replay.pid --tmpdir=/tmp --skip-grant-tables --skip-networking --wsrep-on=OFF \
      --innodb-buffer-pool-size=64M --innodb-flush-log-at-trx-commit=0 --max-allowed-packet=1G >/tmp/replay.log 2>&1 &
    server=$!
    until mariadb-admin --no-defaults --socket=/tmp/replay.sock ping >/dev/null 2>&1; do
      kill -0 $server 2>/dev/null || { grep -i error /tmp/replay.log | tail -n 3 >&2; exit 4; }
      sleep 0.2
    done
    replayed=0
    {
      echo "FLUSH PRIVILEGES;"
      for log in "${@:5}"; do
        read -r name start size <<< "$log"
        head -c "$size" > "$kept/log"
        [ "$(stat -c %s "$kept/log")" = "$size" ] || { echo "$name is not whole" >&2; exit 1; }
        # Copied while it was written to: marked as in use, it would end silently at an event that cannot be read.
        printf '\\0' | dd of="$kept/log" bs=1 seek=21 conv=notrunc status=none
        TZ=UTC mariadb-binlog --no-defaults --start-position="$start" ${4:+--stop-datetime="$4"} "$kept/log" \
          || { echo "$name cannot be read" >&2; exit 1; }  # `set -e` does not hold here: the next log must not follow
      done
    } | mariadb --no-defaults --socket=/tmp/replay.sock --binary-mode --max-allowed-packet=1G || replayed=1
    kill $server || true; wait $server || { replayed=1; tail -n 3 /tmp/replay.log >&2; }  # synced only at its end
    [ $replayed = 0 ] || exit 5
    rm -f "$kept/log"
  fi
  sync; touch "$kept/prepared"
fi
if [ ! -e "$kept/emptied" ]; then
  for one in mysql *; do
    case "$one" in .before-restore-*|lost+found) continue ;; esac
    [ ! -e "$one" ] || mv "$one" "$kept/data/"
  done
  sync; touch "$kept/emptied"
fi
if [ "$3" != 0 ]; then
  for one in "$kept"/new/*; do [ "$one" = "$kept/new/mysql" ] || mv "$one" .; done
  mv "$kept/new/mysql" .
fi
sync; touch "$kept/done"
"""
_STEPS = {
    2: "its stream does not unpack", 3: "mariadb-backup cannot prepare it", 4: "no server starts to replay binary logs",
    5: "a binary log cannot be replayed",
}  # fmt: skip


class Members:
    """The members of the site's MariaDB."""

    def __init__(self, api: Api, namespace: str) -> None:
        """Look at the StatefulSet. Raises GroundupError when it is not of the built-in chart, ApiError."""
        self._api, self._namespace = api, namespace
        self._path = resource_path("apps/v1", "statefulsets", namespace=namespace, name=SET)
        self._pods = resource_path("v1", "pods", namespace=namespace)
        found = api.find(self._path)
        env = found["spec"]["template"]["spec"]["containers"][0].get("env") or () if found else ()
        counts = [int(one["value"]) for one in env if one["name"] == "MEMBERS"]
        if not found or not counts:
            raise GroundupError(
                f"the StatefulSet {SET} of the built-in chart is not there", where=f"namespace {namespace}",
                why="number, image and volumes of MariaDB's members are read from it",
                remedy="run the playbook groundup.cloud.openstack first; with other charts, restore by hand",
            )  # fmt: skip
        self.count, self._template = counts[0], found["spec"]["template"]

    def placed(self, restore: str) -> bool:
        """Return whether a member that runs has the data of this restore. Raises ApiError."""
        if not is_ready(self._api.find(f"{self._pods}/{SET}-0") or {}):
            return False
        member = PodContainer(api=self._api, namespace=self._namespace, pod=f"{SET}-0", container=mariadb.CONTAINER)
        return not member.run(("test", "-e", f"/var/lib/mysql/.before-restore-{restore}.sst/done")).code

    def stop(self) -> None:
        """End all members. Raises GroundupError when one does not end, ApiError."""
        self._scale(0)
        if left := wait_until(self._names, timeout=_DOWN, pause=1.0):
            raise GroundupError(
                f"members of MariaDB do not end: {', '.join(left)}", where=f"namespace {self._namespace}",
                why="one that runs writes to what is set aside",
                remedy="see their nodes; if one is gone for good, delete its pod with --force; then run this again",
            )  # fmt: skip

    def place(
        self, restore: str, *, size: int, pieces: Callable[[], Iterable[bytes]], replays: Replay | None = None
    ) -> None:
        """Put the set's data into the first volume, set aside what all have. Raises GroundupError, ApiError."""
        for number in reversed(range(self.count)):
            with self._volume(number) as container:
                if number:
                    place(container, restore, size=0, pieces=())
                else:
                    place(container, restore, size=size, pieces=pieces(), replays=replays)

    def start(self) -> None:
        """Start all members, with the consent that the first forms the cluster. Raises GroundupError, ApiError."""
        self._scale(self.count)

        def first() -> str:
            self._consent()
            return self._waits(0)

        def rest() -> str:
            return "; ".join(filter(None, (self._waits(number) for number in range(self.count))))

        for waits, timeout in ((first, _FIRST), (rest, _ALL)):
            if reason := wait_until(waits, timeout=timeout, pause=2.0):
                raise GroundupError(
                    f"MariaDB does not come back: {reason}", where=f"namespace {self._namespace}",
                    why="the set's data are in place, and nobody serves them",
                    remedy="its log says what it waits for; then run this again: it goes on here",
                )  # fmt: skip

    def _scale(self, replicas: int) -> None:
        self._api.request("PATCH", self._path, body={"spec": {"replicas": replicas}}, content_type=_MERGE)

    def _names(self) -> list[str]:
        return [
            str(one["metadata"]["name"]) for one in self._api.get(self._pods, labelSelector=mariadb.SELECTOR)["items"]
        ]

    def _waits(self, number: int) -> str:
        found = self._api.find(f"{self._pods}/{SET}-{number}")
        return "" if found and is_ready(found) else f"{SET}-{number}: {pod_reason(found) if found else 'has no pod'}"

    def _consent(self) -> None:
        """Let the first member form the cluster with its data, whoever else is not heard: a consent names an outage."""
        path = resource_path("v1", "configmaps", namespace=self._namespace, name=STATE)
        found = self._api.find(path) or {}
        outage = (found.get("data") or {}).get("outage")
        value = f"{SET}-0:{outage}"
        if outage and ((found["metadata"].get("annotations") or {}).get(FORM_FROM)) != value:
            meta = {"resourceVersion": found["metadata"]["resourceVersion"], "annotations": {FORM_FROM: value}}
            self._api.request("PATCH", path, body={"metadata": meta}, content_type=_MERGE)

    @contextmanager
    def _volume(self, number: int) -> Iterator[Container]:
        """Yield a container with the volume of a member; one of a killed run ends first."""
        name = f"groundup-restore-{SET}-{number}"

        def left() -> Object | None:
            return self._api.find(f"{self._pods}/{name}")

        if left():
            self._api.delete(f"{self._pods}/{name}", gracePeriodSeconds="1")
            wait_until(left, timeout=60.0)
        body = scratch.manifest(name, like=self._template, claim=f"{CLAIM}-{number}")
        body["metadata"]["labels"] = {LABEL: "true"}
        with scratch.started(self._api, self._namespace, body) as container:
            yield container


def place(container: Container, restore: str, *, size: int, pieces: Iterable[bytes], home: str = HOME,
          replays: Replay | None = None) -> None:  # fmt: skip
    """Set aside what a volume has; with ``size``, put the data of a stream there. Raises GroundupError.

    ``pieces``: of the stream, then of the logs of ``replays``.
    """
    argv = ["bash", "-c", SCRIPT, "restore", home, restore, str(size)]
    if replays:
        argv += [replays.stop, *(f"{one.name} {one.start} {one.size}" for one in replays.files)]
    done = container.run(argv, source=pieces)
    if done.code:
        said = " | ".join(done.stderr.strip().splitlines()[-3:])[-400:]
        raise GroundupError(
            f"MariaDB is not restored: {_STEPS.get(done.code, 'the data cannot be put in place')}: {said}",
            where=container.name, why="no member runs now; what it had is on its volume, in .before-restore-*",
            remedy="make room on the volume, or use another set; then run this again",
        )  # fmt: skip


def summary(found: mariadb.Contents, about: dict[str, Any]) -> tuple[str, list[str]]:
    """Return what a restored server holds, and what it lacks of the set."""
    databases = {one.partition(".")[0] for one in found.rows}
    return f"{len(databases)} databases, {sum(found.rows.values())} rows", mariadb.judge(about, found)
