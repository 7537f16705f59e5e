"""One backup set: what there is to save and from where; and the set itself."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ...errors import GroundupError
from ...kube.access import kubeconfig_path
from ...kube.client import Api
from ...kube.piped import PodContainer
from ...kube.types import resource_path
from ...kube.workloads import serving
from ...plan.types import Plan
from ...rollout.gate import pairs
from ...vault import Store, fingerprints, open_store
from . import etcd, mariadb, rabbitmq, service_keys, state
from .disk import SetBackup, SetShelf
from .etcd import EtcdConnection
from .handed import Handed, collect
from .parts import CEPH, ETCD, KEYS, MARIADB, OVN, RABBITMQ, SEED, SERVICE_KEYS, STATE, lacking, parts
from .write import Fill, writing

__all__ = ["ETCD", "KEYS", "MARIADB", "STATE", "Sources", "parts", "survey", "take"]

_CREDENTIALS = ("pki/etcd/ca.crt", "pki/etcd/healthcheck-client.crt", "pki/etcd/healthcheck-client.key")


def credentials(keys: Handed) -> dict[str, str]:
    """Return CA, certificate and key of a client of etcd, of Kubernetes' keys. Raises GroundupError."""
    with tarfile.open(fileobj=io.BytesIO(keys.content)) as archive:
        try:
            found = [archive.extractfile(name) for name in _CREDENTIALS]
        except KeyError as error:
            raise GroundupError(
                f"{keys.host} lacks a credential of etcd: {error}", where=f"host {keys.host}, /etc/kubernetes/pki",
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
    handed: Mapping[str, Handed]  # by part
    api: Api
    store: Store
    database: PodContainer | None

    @classmethod
    def find(cls, plan: Plan, *, site_file: str, said: Mapping[str, Mapping[str, Any]], member: str) -> Sources:
        """Find them. ``said``: what hosts handed over, by host; ``member``: of MariaDB, best. Raises GroundupError."""
        handed, api = collect(plan, said), Api(kubeconfig_path(plan.site))
        namespace = plan.openstack.namespace
        database = mariadb.choose(api, namespace, prefer=member) if MARIADB in parts(plan) else None
        store = open_store(plan.site, write=False)
        return cls(plan=plan, site_file=site_file, handed=handed, api=api, store=store, database=database)

    @contextmanager
    def etcd(self) -> Iterator[tuple[str, EtcdConnection]]:
        """Yield the first member that answers with a leader, and a connection to it. Raises GroundupError."""
        allowed, errors = credentials(self.handed[KEYS]), list[GroundupError]()
        for pod in etcd.members(self.api):
            with ExitStack() as held:
                try:
                    connection = held.enter_context(etcd.connected(self.api, pod, **allowed))
                    connection.state()
                except GroundupError as error:
                    errors.append(error)
                    continue
                yield pod, connection
                return
        raise errors[0]

    @contextmanager
    def open(self, part: str) -> Iterator[tuple[str, Fill]]:
        """Yield where a part is read from, and what writes it. Raises GroundupError."""
        namespace, database = self.plan.openstack.namespace, self.database
        if part in self.handed:
            one = self.handed[part]
            about = one.about(self.plan)
            yield one.source, lambda write: (write(one.content), about)[1]
        elif part == STATE:
            files = state.files(self.plan.site, self.site_file)
            yield "this machine", lambda write: state.take(files, write)
        elif part == RABBITMQ:
            password = self.store.get(rabbitmq.PASSWORD)
            yield "RabbitMQ", lambda write: rabbitmq.take(self.api, namespace, password=password, write=write)
        elif part == SERVICE_KEYS:
            keys = service_keys.read(self.api, self.plan, self.store)
            text = json.dumps(keys, sort_keys=True).encode()
            yield f"namespace {namespace}", lambda write: (write(text), service_keys.about(keys))[1]
        elif part == MARIADB and database:
            yield database.name, lambda write: mariadb.take(database, write)
        elif part == ETCD:
            with self.etcd() as (pod, connection):
                yield f"pod {pod}", lambda write: etcd.take(connection, write)


def survey(sources: Sources) -> list[dict[str, Any]]:
    """Return what a backup would read, and from where: it is asked, nothing is copied. Raises GroundupError."""
    plan, namespace = sources.plan, sources.plan.openstack.namespace
    found = [_row(one.part, one.source, one.told()) for one in sources.handed.values()]
    files = state.files(plan.site, sources.site_file)
    found.append(_row(STATE, "this machine", f"{len(files)} files"))
    if RABBITMQ in parts(plan):
        found.append(_row(RABBITMQ, "RabbitMQ", ", ".join(rabbitmq.members(sources.api, namespace))))
    if SERVICE_KEYS in parts(plan):
        keys = service_keys.about(service_keys.read(sources.api, plan, sources.store))["counts"]
        found.append(_row(SERVICE_KEYS, f"namespace {namespace}", ", ".join(f"{n} {name}" for name, n in keys.items())))
    if sources.database:
        held = mariadb.contents(sources.database)
        databases = {table.partition(".")[0] for table in held.rows}
        told = f"MariaDB {held.version}, {len(databases)} databases, {sum(held.rows.values())} rows"
        found.append(_row(MARIADB, sources.database.name, told))
    found += [_row(part, "-", f"not in a set of this site: {why}") for part, why in lacking(plan).items()]
    if not sources.handed[KEYS].content:  # in check mode no host hands over its keys, without which etcd says nothing
        return [*found, _row(ETCD, f"pod {etcd.members(sources.api)[0]}", "Ready")]
    with sources.etcd() as (pod, connection):
        now = connection.state()
        return [*found, _row(ETCD, f"pod {pod}", f"etcd {now['version']}, {now['keys']} keys")]


def take(sources: Sources, shelf: SetShelf, *, now: datetime | None = None) -> SetBackup:
    """Write one set. Raises GroundupError naming the part that failed; then there is no set."""
    plan, store, said = sources.plan, sources.store, dict[str, Mapping[str, Any]]()
    with writing(shelf, site=plan.site, store=store, now=now) as writer:
        for part in parts(plan):
            if part in sources.handed or part not in (KEYS, OVN, SEED, CEPH):
                with sources.open(part) as (source, fill):
                    said[part] = writer.part(part, fill, source=source)
        versions = {"Kubernetes": str(sources.api.get("/version")["gitVersion"]).removeprefix("v")}
        named = {ETCD: "etcd", MARIADB: "MariaDB", RABBITMQ: "RabbitMQ"}
        versions |= {name: said[part]["version"] for part, name in named.items() if part in said}
        if plan.openstack.releases:
            versions["OpenStack"] = ", ".join(sorted(_running(sources))) or plan.openstack.release
        return writer.finish(
            versions=versions, heads=said.get(MARIADB, {}).get("heads", {}), counts=_counts(said),
            fingerprints=fingerprints(store.items()),
        )  # fmt: skip


def _running(sources: Sources) -> frozenset[str]:
    """Return the OpenStack releases that serve; before a step between two, the site file names another already."""
    cloud = sources.plan.openstack
    names = ", ".join(sorted(one.name for one in cloud.releases if not one.is_extra))
    pods = sources.api.get(
        resource_path("v1", "pods", namespace=cloud.namespace),
        labelSelector=f"application in ({names})", fieldSelector="status.phase=Running",
    )  # fmt: skip
    return pairs.releases(serving(pods.get("items") or ()))


def _counts(said: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    found = {part: one.get("files") or sum(one.get("counts", {}).values()) for part, one in said.items()
             if part not in (ETCD, MARIADB)}  # fmt: skip
    rows = {"rows": sum(min(pair) for pair in said[MARIADB]["rows"].values())} if MARIADB in said else {}
    return {**found, **rows, "keys": min(said[ETCD]["keys"])}


def _row(part: str, source: str, what: str) -> dict[str, Any]:
    return {"part": part, "source": source, "what": what}
