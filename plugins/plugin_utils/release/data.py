"""Migrate Nova's data by the job of its chart, at once instead of by night. Cinder's follow its schema in its chart."""

from __future__ import annotations

from ...module_utils._base.wait import wait_until
from ..errors import GroundupError
from ..kube.client import Api
from ..kube.types import Object, resource_path
from ..kube.workloads import condition, failed, images
from ..progress import Progress

CRON = "nova-data-migrations"
_GONE, _MIGRATED, _PAUSE = 120.0, 3600.0, 3.0  # seconds


def forget(api: Api, namespace: str, release: str) -> None:
    """Delete a former job: its word is of the data of then. Raises GroundupError, ApiError."""
    path = resource_path("batch/v1", "jobs", namespace=namespace, name=job(release))
    if api.find(path):
        api.delete(path, body={"propagationPolicy": "Foreground"})
    if wait_until(lambda: api.find(path) is not None, timeout=_GONE, pause=_PAUSE):
        raise stopped(namespace, job(release), "of a former run is not gone")


def migrate(api: Api, namespace: str, release: str, *, say: Progress) -> None:
    """Run the job, and wait until it ends; one of a killed run is waited for, unless its image was corrected since.

    Raises GroundupError, ApiError.
    """
    name = job(release)
    path = resource_path("batch/v1", "jobs", namespace=namespace, name=name)
    cron = api.get(resource_path("batch/v1", "cronjobs", namespace=namespace, name=CRON))
    template = cron["spec"]["jobTemplate"]
    found = api.find(path)
    if found and (_has_ended(found) or images(found) != images(template)):  # it said "not yet", failed, or is stuck
        forget(api, namespace, release)
        found = None
    if found is None:
        owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": CRON, "uid": cron["metadata"]["uid"]}
        known = {**(template.get("metadata") or {}), "name": name, "namespace": namespace}
        made = {
            "apiVersion": "batch/v1", "kind": "Job", "spec": template["spec"],
            "metadata": known | {"ownerReferences": [{**owner, "controller": True}]},  # which removes it in time
        }  # fmt: skip
        api.request("POST", resource_path("batch/v1", "jobs", namespace=namespace), body=made)
    say(f"Job/{name} migrates Nova's data")
    if wait_until(lambda: not _has_ended(api.get(path)), timeout=_MIGRATED, pause=_PAUSE):
        raise stopped(namespace, name, "has not ended yet")
    if failed(api.get(path)):
        raise stopped(namespace, name, "failed")


def job(release: str) -> str:
    """Return the name of the job that migrates Nova's data to ``release``."""
    return f"{CRON}-{release.replace('.', '-')}"


def _has_ended(found: Object) -> bool:
    return condition(found, "Complete") == "True" or failed(found)


def stopped(namespace: str, name: str, what: str) -> GroundupError:
    """Return the error of a migration that did not end well."""
    return GroundupError(
        f"Job/{name} {what}", where=f"namespace {namespace}",
        why="the cloud serves, and the release after this one refuses data that were not migrated",
        remedy=f"kubectl --namespace {namespace} logs job/{name}; then run this playbook again",
    )  # fmt: skip
