"""What follows when every service of a release is new: pins of messages are lifted, data are migrated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...module_utils._base.wait import wait_until
from ..errors import GroundupError
from ..helm import records
from ..kube.client import Api
from ..kube.types import Object, resource_path
from ..kube.workloads import condition, failed, unready
from ..progress import Progress
from ..services import cinder, nova

_MANAGER, _MARK = "groundup-upgrade", "groundup.cloud/pins-lifted"
_KINDS = {"Deployment": "deployments", "StatefulSet": "statefulsets"}
_PINNED = (nova.SERVICE.name, cinder.SERVICE.name)  # they look once, when they start, for the oldest of their services
_CRON = "nova-data-migrations"
_STARTED, _MIGRATED, _PAUSE = 1200.0, 3600.0, 3.0  # seconds


def lift(api: Api, namespace: str, release: str, *, say: Progress) -> list[str]:
    """Restart, one pod beside the other, what still speaks the former release's messages; return what was restarted.

    Raises GroundupError when it does not become ready, ApiError.
    """
    live = records.read(api, [namespace])
    changed: list[str] = []
    for name in _PINNED:
        items = live[namespace, name].objects if (namespace, name) in live else ()
        for item in (one for one in items if one.get("kind") in _KINDS):
            path = resource_path(
                "apps/v1", _KINDS[item["kind"]], namespace=namespace, name=str(item["metadata"]["name"])
            )
            if _mark_of(api.get(path)) == release:
                continue
            template = {"metadata": {"annotations": {_MARK: release}}}
            head = {key: item[key] for key in ("apiVersion", "kind")} | {"metadata": {"name": item["metadata"]["name"]}}
            api.apply(path, {**head, "spec": {"template": template}}, manager=_MANAGER)
            changed.append(f"{item['kind']}/{item['metadata']['name']}")
            say(f"[openstack_upgrade] {changed[-1]}: restarting, without the pin of the former release")
    _ready(api, namespace, release)
    return changed


def _mark_of(item: Object) -> str:
    return str((item["spec"]["template"].get("metadata", {}).get("annotations") or {}).get(_MARK, ""))


def _ready(api: Api, namespace: str, release: str) -> None:
    if waits := wait_until(lambda: list(_waiting(api, namespace, release)), timeout=_STARTED, pause=_PAUSE):
        raise GroundupError(
            f"not ready after its restart: {'; '.join(waits)}", where=f"namespace {namespace}",
            why="former pods serve until new ones are ready; they speak the former release's messages",
            remedy="run the playbook groundup.cloud.openstack, tag verify: it names what is wrong; then this one again",
        )  # fmt: skip


def _waiting(api: Api, namespace: str, release: str) -> Iterator[str]:
    for kind, plural in _KINDS.items():
        for item in api.get(resource_path("apps/v1", plural, namespace=namespace)).get("items") or ():
            if _mark_of(item) == release and (why := unready({"kind": kind, **item})):
                yield f"{kind}/{item['metadata']['name']}: {why}"


def migrate(api: Api, namespace: str, release: str, *, say: Progress) -> bool:
    """Migrate Nova's data by its own job, at once instead of at night; return False when the job has ended before.

    A job that failed is made anew. Raises GroundupError when it fails or does not end, ApiError.
    """
    name = f"{_CRON}-{release.replace('.', '-')}"
    path = resource_path("batch/v1", "jobs", namespace=namespace, name=name)
    job = api.find(path)
    if job and condition(job, "Complete") == "True":
        return False
    if job and failed(job):
        api.delete(path, body={"propagationPolicy": "Foreground"})
        wait_until(lambda: api.find(path) is not None, timeout=_STARTED, pause=_PAUSE)
        job = None
    if job is None:
        cron = api.get(resource_path("batch/v1", "cronjobs", namespace=namespace, name=_CRON))
        template = cron["spec"]["jobTemplate"]
        made = {
            "apiVersion": "batch/v1", "kind": "Job", "spec": template["spec"],
            "metadata": {**(template.get("metadata") or {}), "name": name, "namespace": namespace},
        }  # fmt: skip
        api.request("POST", resource_path("batch/v1", "jobs", namespace=namespace), body=made)
    say(f"[openstack_upgrade] Job/{name}: migrating Nova's data")
    left = wait_until(lambda: _open(api.get(path)), timeout=_MIGRATED, pause=_PAUSE)
    if left or failed(api.get(path)):
        raise GroundupError(
            f"Job/{name} {left or 'failed'}", where=f"namespace {namespace}",
            why="the cloud serves, and the release after this one refuses data that were not migrated",
            remedy=f"kubectl --namespace {namespace} logs job/{name}; then run this playbook again",
        )  # fmt: skip
    return True


def _open(job: Object) -> str:
    return "" if condition(job, "Complete") == "True" or failed(job) else "has not ended yet"


def cinder_data(api: Api, namespace: str, pods: Sequence[Object]) -> None:
    """Migrate Cinder's data in one of its scheduler's ``pods``. Raises GroundupError, ApiError."""
    for pod in pods[:1]:
        name = str(pod["metadata"]["name"])
        done = api.execute(
            namespace, name, ("cinder-manage", "db", "online_data_migrations"), timeout=_MIGRATED
        )
        if done.code:
            raise GroundupError(
                f"the migration of Cinder's data ended with code {done.code}: {done.stdout.strip()[-200:]}",
                where=f"pod {name}", why="the release after this one refuses data that were not migrated",
                remedy=f"kubectl --namespace {namespace} exec {name} -- cinder-manage db online_data_migrations",
            )  # fmt: skip
