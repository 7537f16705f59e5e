"""One backup set: what there is to save and from where; and the set itself."""

from __future__ import annotations

import base64
import io
import tarfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ...errors import GroundupError
from ...kube.access import kubeconfig_path
from ...kube.client import Api
from ...kube.piped import PodContainer
from ...plan.types import Plan
from ...vault import Store, fingerprints
from . import etcd, mariadb, state
from .disk import SetBackup, SetShelf, SetWriter, writing
from .etcd import EtcdConnection

KEYS, STATE, ETCD, MARIADB = "kubernetes-keys", "state", "etcd", "mariadb"
_CREDENTIALS = ("pki/etcd/ca.crt", "pki/etcd/healthcheck-client.crt", "pki/etcd/healthcheck-client.key")


def parts(plan: Plan) -> tuple[str, ...]:
    """Return the parts of the site's sets, in the order they are taken: etcd last, as it changes most."""
    database = (MARIADB,) if "mariadb" in {one.name for one in plan.openstack.releases} else ()
    return (KEYS, STATE, *database, ETCD)


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """Kubernetes' keys of a control host, as it handed them over: a tar archive."""

    host: str
    content: bytes

    def credentials(self) -> dict[str, str]:
        """Return CA, certificate and key of a client of etcd. Raises GroundupError."""
        with tarfile.open(fileobj=io.BytesIO(self.content)) as archive:
            try:
                found = [archive.extractfile(name) for name in _CREDENTIALS]
            except KeyError as error:
                raise GroundupError(
                    f"{self.host} lacks a credential of etcd: {error}", where=f"host {self.host}, /etc/kubernetes/pki",
                    why="etcd gives a snapshot only to clients with a certificate",
                    remedy="kubeadm init phase certs etcd-healthcheck-client on the host makes them again",
                ) from error  # fmt: skip
            texts = [one.read().decode("ascii") for one in found if one]
        return dict(zip(("ca", "certificate", "key"), texts, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where the parts of a set come from."""

    plan: Plan
    site_file: str
    keys: Keys
    api: Api
    database: PodContainer | None

    @classmethod
    def find(cls, plan: Plan, *, site_file: str, host: str, content: str) -> Sources:
        """Find them. ``content``: the keys of the control host ``host``, in base64. Raises GroundupError."""
        api = Api(kubeconfig_path(plan.site))
        database = mariadb.choose(api, plan.openstack.namespace) if MARIADB in parts(plan) else None
        keys = Keys(host=host, content=base64.b64decode(content))
        return cls(plan=plan, site_file=site_file, keys=keys, api=api, database=database)

    @contextmanager
    def etcd(self) -> Iterator[tuple[str, EtcdConnection]]:
        """Yield the first member that answers with a leader, and a connection to it. Raises GroundupError."""
        credentials, errors = self.keys.credentials(), list[GroundupError]()
        for pod in etcd.members(self.api):
            with etcd.connected(self.api, pod, **credentials) as connection:
                try:
                    connection.state()
                except GroundupError as error:
                    errors.append(error)
                    continue
                yield pod, connection
                return
        raise errors[0]


def survey(sources: Sources) -> list[dict[str, Any]]:
    """Return what a backup would read, and from where: it is asked, nothing is copied. Raises GroundupError."""
    with tarfile.open(fileobj=io.BytesIO(sources.keys.content)) as archive:
        found = [_row(KEYS, f"host {sources.keys.host}", f"{len(archive.getnames())} files")]
    files = state.files(sources.plan.site, sources.site_file)
    found.append(_row(STATE, "this machine", f"{len(files)} files"))
    if sources.database:
        held = mariadb.contents(sources.database)
        databases = {table.partition(".")[0] for table in held.rows}
        told = f"MariaDB {held.version}, {len(databases)} databases, {sum(held.rows.values())} rows"
        found.append(_row(MARIADB, sources.database.name, told))
    with sources.etcd() as (pod, connection):
        now = connection.state()
        found.append(_row(ETCD, f"pod {pod}", f"etcd {now['version']}, {now['keys']} keys"))
    return found


def take(sources: Sources, shelf: SetShelf, *, store: Store, now: datetime | None = None) -> SetBackup:
    """Write one set. Raises GroundupError naming the part that failed; then there is no set."""
    plan, versions, heads, counts = sources.plan, dict[str, str](), dict[str, str](), dict[str, int]()
    with writing(shelf, site=plan.site, store=store, now=now) as writer:
        counts[KEYS] = _keys(writer, sources.keys)["files"]
        files = state.files(plan.site, sources.site_file)
        counts[STATE] = writer.part(STATE, lambda write: state.take(files, write), source="this machine")["files"]
        if database := sources.database:
            said = writer.part(MARIADB, lambda write: mariadb.take(database, write), source=database.name)
            versions["MariaDB"], heads = said["version"], said["heads"]
            counts["rows"] = sum(min(pair) for pair in said["rows"].values())
        with sources.etcd() as (pod, connection):
            said = writer.part(ETCD, lambda write: etcd.take(connection, write), source=f"pod {pod}")
            versions["etcd"], counts["keys"] = said["version"], min(said["keys"])
        versions["Kubernetes"] = str(sources.api.get("/version")["gitVersion"]).removeprefix("v")
        if plan.openstack.releases:
            versions["OpenStack"] = plan.openstack.release
        return writer.finish(versions=versions, heads=heads, counts=counts, fingerprints=fingerprints(store.items()))


def _keys(writer: SetWriter, keys: Keys) -> Mapping[str, Any]:
    def fill(write: Callable[[bytes], object]) -> dict[str, Any]:
        write(keys.content)
        with tarfile.open(fileobj=io.BytesIO(keys.content)) as archive:
            return {"files": len(archive.getnames())}

    return writer.part(KEYS, fill, source=f"host {keys.host}")


def _row(part: str, source: str, what: str) -> dict[str, Any]:
    return {"part": part, "source": source, "what": what}
