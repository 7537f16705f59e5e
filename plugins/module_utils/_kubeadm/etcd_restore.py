"""Restore etcd: stop every member, put a snapshot on one control host, clear the others to join it as new members.

Former data are renamed, never deleted. `RECORD` says which restore a host has passed; all else is seen on the host.

Of control hosts that were all made anew, one gets the set's keys, marked as `restore` (`half_made`), then etcd's data.
Nothing runs there until `converge` has kubeadm initialise it with both; the others join as ever.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.files import read, sync, write_file
from .._base.wait import wait_until
from .._host import units
from . import half_made, keys, static_pods
from .api import NodeApiError
from .etcd import Etcd
from .files import KUBELET
from .host import NodeHost
from .rolling_restart import unready
from .spec import CRI_SOCKET, Paths
from .state import ObservedState, observe

RECORD = "restore.json"  # in Paths.site, which kubeadm reset leaves alone
SUFFIX = ".before-restore"
PUT, LEFT = "put", "left"  # what a host did in a restore
BUMP = 1_000_000_000  # revisions: more than are written between a backup and a loss
TIMEOUT = 300.0  # seconds, for a snapshot of several GiB
_STOP = 60.0
_RESET_TIMEOUT = 300.0
_API = 300.0  # seconds for etcd, then the API, to start


def look(_: Changes, given: dict[str, Any]) -> dict[str, Any]:
    """Return what this control host has of etcd, and what its member says now. Raises GroundupError, OSError."""
    host = NodeHost(name=given["name"])
    found, flags = observe(host.paths), _flags(host.paths)
    try:
        now, why = Etcd(host).state() if found.etcd_data else {}, ""
    except (GroundupError, NodeApiError) as error:
        now, why = {}, getattr(error, "what", str(error))
    present = [name for name, _ in keys.files(host)]
    return {
        "changed": False, "anew": (found.blank or found.restoring) and not now,
        "member": found.finished and bool(flags), "etcd_data": found.etcd_data,
        "ca": found.ca_fingerprint, "keys": all(name in present for name in keys.NEEDED), "now": now, "why": why,
        "image": static_pods.container("etcd", host.paths).get("image", ""), "passed": passed(host.paths),
        "full": max(len(half_made.kept_of(one)) for one in (host.paths.kubernetes, host.paths.etcd)) >= half_made.MOST,
    }  # fmt: skip


def stop(changes: Changes, given: dict[str, Any]) -> None:
    """Stop the kubelet and the control plane's containers, unless this host has passed this restore already."""
    host = NodeHost(name=given["name"])
    if passed(host.paths).get("restore") != given["restore"] and not _idle(observe(host.paths)):
        with host.alone():
            _stop(host, changes)


def put(changes: Changes, given: dict[str, Any]) -> None:
    """Put a snapshot in the place of etcd's data, and start the control plane with it. Raises GroundupError, OSError.

    A host that was made anew has none yet: the layer's run starts it.
    ``given``: ``restore`` (its name), ``snapshot`` and ``program`` (files; etcdutl), ``api`` (URL of the own server).
    """
    host = NodeHost(name=given["name"])
    with host.alone():
        found = observe(host.paths)
        if passed(host.paths).get("restore") != given["restore"]:
            if not _idle(found):
                _stop(host, changes)
            _replace(host, changes, given, restoring=found.restoring)
        if found.restoring:
            return
        if _kubelet() != "active" and changes.add("start the kubelet"):
            units.control("start", KUBELET)
    if reason := wait_until(lambda: unready(host, given["api"]), timeout=_API, pause=1.0):
        raise GroundupError(
            f"the API of {host.name} is not ready {_API:.0f} s after etcd was restored: {reason}",
            where=f"host {host.name}, {given['api']}/readyz", why="the other control hosts join through it",
            remedy="see crictl ps -a and journalctl -u kubelet on the host; then run this again: it goes on here",
        )  # fmt: skip


def leave(changes: Changes, given: dict[str, Any]) -> None:
    """Clear a control host of the former cluster, files set aside, to join anew. Raises GroundupError, OSError."""
    host = NodeHost(name=given["name"])
    paths = host.paths
    if passed(paths).get("restore") == given["restore"]:
        return
    with host.alone():
        found = observe(paths)
        if (found.restoring or not found.blank) and changes.add(
            "clear the node, to join the restored cluster as a new one"
        ):
            if not _idle(found):
                _stop(host, changes)
            if not found.blank:
                kept = half_made.set_aside(paths, etcd=found.etcd_data, emptied=False, host=host.name)
                changes.warnings.append(f"{host.name} joins anew; set aside: {', '.join(map(str, kept))}")
            if _idle(found) and not any(found.kubeconfigs.values()):
                _take_keys(paths)
            else:
                _reset(host, site=given["site"])
        if not changes.check:
            _record(paths, given["restore"], LEFT)


def _take_keys(paths: Paths) -> None:
    """Remove the keys of a set where kubeadm never ran, and may not be installed; what is left lets a re-run go on."""
    if paths.pki.exists():
        shutil.rmtree(paths.pki)
    (paths.kubernetes / keys.ENCRYPTION).unlink(missing_ok=True)
    half_made.ended(paths)


def _reset(host: NodeHost, *, site: str) -> None:
    half_made.begin(host.paths, half_made.HalfMade(cluster=site, verb="join"))  # if killed: reset, never kept
    argv = [
        "kubeadm", "reset", "--force", "--cri-socket", CRI_SOCKET, "--ignore-preflight-errors", "all",
        "--skip-phases", "remove-etcd-member",
    ]  # fmt: skip
    host.run(argv, timeout=_RESET_TIMEOUT, why="it belongs to a cluster that is no more")
    for name in ("bootstrap-kubelet.conf", "super-admin.conf"):
        (host.paths.kubernetes / name).unlink(missing_ok=True)


def put_keys(changes: Changes, given: dict[str, Any]) -> None:
    """Put back the authorities and keys of Kubernetes that are missing. Raises GroundupError for ones that differ."""
    host = NodeHost(name=given["name"])
    with host.alone():
        found = observe(host.paths)
        if found.blank and not changes.check:  # before its first file: a killed run is gone on with
            half_made.begin(host.paths, half_made.HalfMade(cluster=given["site"], verb="restore"))
        anew = found.blank or found.restoring
        missing = keys.put(host, changes, given["content"], anew=anew)
        if missing and not (anew or changes.check) and host.paths.init_file.exists():
            host.phase("certs", "all", why="certificates are made from the authorities that were put back")


def halt(host: NodeHost, changes: Changes) -> None:
    """End what a killed init has started on restored data, and remove its manifests: kubeadm refuses such a host.

    The kubelet ends in any case: a reboot may have started it. Raises GroundupError, OSError.
    """
    _stop_kubelet(changes)
    if manifests := sorted((host.paths.kubernetes / "manifests").glob("*.yaml")):
        _stop(host, changes)
        for path in manifests:
            path.unlink()


def _replace(host: NodeHost, changes: Changes, given: dict[str, Any], *, restoring: bool) -> None:
    paths, flags, name = host.paths, _flags(host.paths), given["restore"]
    if restoring:  # as kubeadm will name it
        peer = f"https://{urlsplit(given['api']).hostname}:2380"
        flags = {"name": given["name"], "initial-advertise-peer-urls": peer}
    if not flags:
        raise GroundupError(
            f"{host.name} has no manifest of etcd", where=f"{static_pods.manifest('etcd', paths)}",
            why="name and address of the member are read from it", remedy="restore on another control host",
        )  # fmt: skip
    mounted = paths.etcd.is_mount()  # it cannot be renamed
    place = paths.etcd / "member" if mounted else paths.etcd
    new = paths.etcd / "restoring" if mounted else paths.etcd.with_name("etcd.restoring")
    if not changes.add(f"restore etcd from the set {given['source']}"):
        return
    if new.exists():  # of a killed run
        shutil.rmtree(new)
    restore_snapshot(host, given, into=new, member=flags["name"], peer=flags["initial-advertise-peer-urls"])
    (paths.site / RECORD).unlink(missing_ok=True)  # of an earlier restore: until this one's, `converge` starts nothing
    if place.exists():
        aside = _free(place.with_name(f"{place.name}.{name}{SUFFIX}"))
        place.rename(aside)
        changes.warnings.append(f"{host.name}: what etcd had is set aside: {aside}")
    (new / "member" if mounted else new).rename(place)
    sync(place.parent)
    _record(paths, name, PUT)


def restore_snapshot(host: NodeHost, given: dict[str, Any], *, into: Path, member: str, peer: str) -> None:
    """Make the data of a cluster of one ``member`` from a snapshot, with an identity that no other cluster has."""
    argv = [
        given["program"], "snapshot", "restore", given["snapshot"], f"--data-dir={into}", f"--name={member}",
        f"--initial-cluster={member}={peer}", f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster-token=restore-{given['restore']}", f"--bump-revision={BUMP}", "--mark-compacted",
    ]  # fmt: skip
    host.run(argv, timeout=TIMEOUT, why="without it there is no cluster; what etcd had is where it was")


def _idle(found: ObservedState) -> bool:
    """Return whether nothing of a control plane was ever started; crictl may be missing then."""
    return found.blank or (found.restoring and not found.manifests)


def _stop(host: NodeHost, changes: Changes) -> None:
    """Stop the kubelet, then the containers of the control plane, which it would start again."""
    _stop_kubelet(changes)

    def running() -> list[str]:
        text = host.run(
            ["crictl", "ps", "--output", "json"], timeout=_STOP, why="etcd must not run on what is replaced"
        )
        found = json.loads(text or "{}").get("containers") or []
        return [
            str(one["id"]) for one in found if one["labels"].get("io.kubernetes.container.name") in static_pods.STATIC
            and one["labels"].get("io.kubernetes.pod.namespace") == "kube-system"
        ]  # fmt: skip

    if (found := running()) and changes.add("stop etcd and the control plane"):
        host.run(["crictl", "stop", "--timeout", "10", *found], timeout=_STOP, why="etcd's data are replaced")
    if not changes.check and (left := wait_until(running, timeout=_STOP)):
        raise GroundupError(
            f"containers of the control plane still run on {host.name}: {', '.join(left)}", where=f"host {host.name}",
            why="etcd would write to data that are renamed", remedy="crictl stop ends them; then run this again",
        )  # fmt: skip


def _stop_kubelet(changes: Changes) -> None:
    if _kubelet() in units.ACTIVE and changes.add("stop the kubelet"):
        units.control("stop", KUBELET)


def _kubelet() -> str:
    return units.properties(KUBELET, "ActiveState").get("ActiveState", "")


def _flags(paths: Paths) -> dict[str, str]:
    return static_pods.flags(static_pods.container("etcd", paths))


def _free(path: Path) -> Path:
    """Return ``path``, or with a number when there is such a one: a killed run's."""
    names = (path if not number else path.with_name(f"{path.name}.{number}") for number in range(1000))
    return next(name for name in names if not name.exists())


def passed(paths: Paths) -> dict[str, str]:
    """Return the restore that this host has passed, and what it did in it; data that are gone are not put."""
    try:
        found = dict(json.loads(read(paths.site / RECORD) or "{}"))
    except ValueError:
        return {}
    return {} if found.get("did") == PUT and not (paths.etcd / "member").exists() else found


def _record(paths: Paths, restore: str, did: str) -> None:
    write_file(paths.site / RECORD, json.dumps({"restore": restore, "did": did}).encode(), mode=0o600)
