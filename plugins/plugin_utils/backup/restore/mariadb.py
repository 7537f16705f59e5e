"""MariaDB: the set's data into the first member's volume, what all members had aside, the others copy the first.

No member runs meanwhile, so nobody writes. What a volume had goes into a directory of it. Its name ends in `.sst`: the
server takes it for no database, and a state transfer keeps it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator
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
_HOSTNAME = "kubernetes.io/hostname"
_MERGE = "application/merge-patch+json"
_DOWN, _FIRST, _ALL = 660.0, 600.0, 1800.0  # seconds: a server may take ten minutes to end; a copy takes its time
# The volume, the restore's name, size of the stream (0: only set aside); time to which binary logs are replayed ("":
# all); size of the statements that give accounts the present passwords; name, first byte and size of each log. All
# follow the stream, the statements last. One connection runs them: it is there before grants are. `mysql` goes first
# and comes last: a volume without it holds no database, so that a member that is started in between neither runs nor
# forms a cluster with half.
SCRIPT = """\
set -euo pipefail
shopt -s nullglob dotglob
cd "$1"
kept=".before-restore-$2.sst"
# Done, unless it was only set aside, and is to get the data now: the host of the first one died in between.
[ ! -e "$kept/done" ] || { [ "$3" != 0 ] && [ ! -e mysql ]; } || exit 0
mkdir -p -m 700 "$kept/data"
if [ "$3" != 0 ] && [ ! -e "$kept/prepared" ]; then
  rm -rf "$kept/new"; mkdir -m 700 "$kept/new"
  head -c "$3" | { mbstream -x -C "$kept/new" || { cat >/dev/null; exit 2; }; }
  mariadb-backup --prepare --use-memory=64M --target-dir="$kept/new" >/tmp/prepare.log 2>&1 \
    || { tail -n 3 /tmp/prepare.log >&2; exit 3; }
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
    for log in "${@:6}"; do
      read -r name start size <<< "$log"
      head -c "$size" > "$kept/log"
      [ "$(stat -c %s "$kept/log")" = "$size" ] || { echo "$name is not whole" >&2; exit 1; }
      # Copied while it was written to: marked as in use, it would end silently at an event that cannot be read.
      printf '\\0' | dd of="$kept/log" bs=1 seek=21 conv=notrunc status=none
      TZ=UTC mariadb-binlog --no-defaults --start-position="$start" ${4:+--stop-datetime="$4"} "$kept/log" \
        || { echo "$name cannot be read" >&2; exit 1; }  # `set -e` does not hold here: the next log must not follow
    done
    head -c "$5"
  } | mariadb --no-defaults --socket=/tmp/replay.sock --binary-mode --max-allowed-packet=1G || replayed=1
  kill $server || true; wait $server || { replayed=1; tail -n 3 /tmp/replay.log >&2; }  # synced only at its end
  [ $replayed = 0 ] || exit 5
  rm -f "$kept/log"
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
  [ -e mysql ] || mv "$kept/new/mysql" .  # moved: by a run that was killed then
fi
sync; touch "$kept/done"
"""
_STEPS = {
    2: "its stream does not unpack", 3: "mariadb-backup cannot prepare it", 4: "no server starts on it",
    5: "its binary logs cannot be replayed, or its accounts get no passwords",
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
        self.numbers = [*range(self.count)]  # of those that take part; the first gets the data

    def away(self) -> dict[int, str]:
        """Return the members whose volume no node can mount now, with the reason, by number. Raises ApiError."""
        ready = {str(one["metadata"]["name"]) for one in self._api.get("/api/v1/nodes")["items"] if is_ready(one)}
        found = {number: self._unmounted(f"{CLAIM}-{number}", ready) for number in range(self.count)}
        return {number: why for number, why in found.items() if why}

    def _unmounted(self, name: str, ready: Collection[str]) -> str:
        """Return why no node of ``ready`` can mount the volume of a claim, "" when one can."""
        path = resource_path("v1", "persistentvolumeclaims", namespace=self._namespace, name=name)
        claim = self._api.find(path)
        if not claim or (claim.get("status") or {}).get("phase") != "Bound":
            return f"claim {name} has no volume"
        if not (volume := self._api.find(f"/api/v1/persistentvolumes/{claim['spec']['volumeName']}")):
            return f"the volume of claim {name} is not there"
        affinity = (volume["spec"].get("nodeAffinity") or {}).get("required") or {}
        rules = [
            rule for term in affinity.get("nodeSelectorTerms") or () for rule in term.get("matchExpressions") or ()
        ]
        nodes = {name for rule in rules if rule["key"] == _HOSTNAME for name in rule.get("values") or ()}
        return f"its volume is on {', '.join(sorted(nodes))}, not Ready" if nodes and not nodes & {*ready} else ""

    def placed(self, restore: str) -> bool:
        """Return whether a member that runs has the data of this restore. Raises ApiError."""
        done = ("test", "-e", f"/var/lib/mysql/.before-restore-{restore}.sst/done")
        return any(
            not PodContainer(
                api=self._api, namespace=self._namespace, pod=f"{SET}-{number}", container=mariadb.CONTAINER
            ).run(done).code
            for number in range(self.count) if is_ready(self._api.find(f"{self._pods}/{SET}-{number}") or {})
        )  # fmt: skip

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
        self, restore: str, *, size: int, pieces: Callable[[], Iterable[bytes]], accounts: bytes,
        replays: Replay | None = None,
    ) -> None:  # fmt: skip
        """Put the set's data into the first volume, set aside what all have. Raises GroundupError, ApiError.

        ``accounts``: statements that are run on these data.
        """
        for number in reversed(self.numbers):
            with self._volume(number) as container:
                if number != self.numbers[0]:
                    place(container, restore, size=0, pieces=())
                else:
                    place(container, restore, size=size, pieces=pieces(), accounts=accounts, replays=replays)

    def start(self) -> None:
        """Start all members, with the consent that the first forms the cluster. Raises GroundupError, ApiError."""
        self._scale(self.count)

        def first() -> str:
            self._consent()
            return self._waits(self.numbers[0])

        def rest() -> str:
            return "; ".join(filter(None, map(self._waits, self.numbers)))

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
        found = self._api.get(self._pods, labelSelector=mariadb.SELECTOR)["items"]
        left_out = {f"{SET}-{number}" for number in range(self.count) if number not in self.numbers}
        return [name for one in found if (name := str(one["metadata"]["name"])) not in left_out]

    def _waits(self, number: int) -> str:
        found = self._api.find(f"{self._pods}/{SET}-{number}")
        return "" if found and is_ready(found) else f"{SET}-{number}: {pod_reason(found) if found else 'has no pod'}"

    def _consent(self) -> None:
        """Let the first member form the cluster with its data, whoever else is not heard: a consent names an outage."""
        path = resource_path("v1", "configmaps", namespace=self._namespace, name=STATE)
        found = self._api.find(path) or {}
        outage = (found.get("data") or {}).get("outage")
        value = f"{SET}-{self.numbers[0]}:{outage}"
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
          accounts: bytes = b"", replays: Replay | None = None) -> None:  # fmt: skip
    """Set aside what a volume has; with ``size``, put the data of a stream there. Raises GroundupError.

    ``pieces``: of the stream, then of the logs of ``replays``. ``accounts``: statements that are run at the end.
    """
    argv = ["bash", "-c", SCRIPT, "restore", home, restore, str(size), replays.stop if replays else ""]
    argv += [str(len(accounts)), *(f"{one.name} {one.start} {one.size}" for one in (replays.files if replays else ()))]
    done = container.run(argv, source=itertools.chain(pieces, [accounts] if accounts else []))
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
