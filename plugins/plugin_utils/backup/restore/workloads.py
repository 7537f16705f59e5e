"""Pods that hold what was true before a restore: they end, and their controllers start them anew."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from ....module_utils._base.wait import wait_until
from ...errors import GroundupError
from ...kube.client import Api
from ...kube.types import Object, resource_path
from ...kube.workloads import owner_of, unready

NETWORK = ("kube-system", "kube-flannel", "calico-system")  # namespaces of pod networks, kube-proxy, DNS
_STATIC = "kubernetes.io/config.mirror"
_WAIT = 900.0  # seconds: all of OpenStack's services at once, on a small machine
# Of the built-in charts, by their names; Keystone's migrations end with its administrator.
ACCOUNTS = re.compile(r"keystone-db-sync-[0-9a-f]{8}|[a-z-]+-identity-[0-9a-f]{8}")
_CACHES = ("memcached",)


def nodes_without_host(api: Api, hosts: Collection[str]) -> list[str]:
    """Return the Nodes that no host of the site file is. Raises ApiError."""
    return sorted(str(one["metadata"]["name"]) for one in api.get("/api/v1/nodes")["items"]
                  if one["metadata"]["name"] not in hosts)  # fmt: skip


def restart_network(api: Api) -> int:
    """Restart what watches Kubernetes on every node: kube-proxy, pod network, DNS. Return the number of pods."""
    return sum(_end(api, namespace, lambda pod: _STATIC not in (pod["metadata"].get("annotations") or {}))
               for namespace in NETWORK)  # fmt: skip


def restart_services(api: Api, namespace: str, *, names: Collection[str] = ()) -> int:
    """Restart what has read the databases, and the caches, and wait for it. Raises GroundupError, ApiError.

    ``names``: of the only applications to restart.
    """

    def reads(pod: Object) -> bool:
        owner = owner_of(pod)
        name = (pod["metadata"].get("labels") or {}).get("application", "")
        deployed = bool(owner and owner.kind == "Deployment")
        return deployed and name in names if names else (deployed and name != "mariadb") or name in _CACHES

    number = _end(api, namespace, reads)

    def late() -> list[str]:
        found = api.get(resource_path("apps/v1", "deployments", namespace=namespace))["items"]
        return [str(one["metadata"]["name"]) for one in found if unready({**one, "kind": "Deployment"})]

    if left := wait_until(late, timeout=_WAIT, pause=2.0):
        raise GroundupError(
            f"services do not come back with what was restored: {', '.join(left)}", where=f"namespace {namespace}",
            why="they answer nobody", remedy="the playbook groundup.cloud.openstack, tag verify, says why",
        )  # fmt: skip
    return number


def forget_accounts(api: Api, namespace: str) -> list[str]:
    """Remove the jobs that made Keystone's administrator and users; a rollout makes them again. Raises ApiError."""
    jobs = resource_path("batch/v1", "jobs", namespace=namespace)
    names = [
        str(one["metadata"]["name"]) for one in api.get(jobs)["items"] if (one.get("status") or {}).get("succeeded")
    ]
    found = [name for name in names if ACCOUNTS.fullmatch(name)]
    for name in found:
        api.delete(f"{jobs}/{name}", propagationPolicy="Background")
    return found


def _end(api: Api, namespace: str, wanted: Callable[[Object], bool]) -> int:
    pods = resource_path("v1", "pods", namespace=namespace)
    found = [one for one in api.get(pods)["items"] if one["metadata"].get("ownerReferences") and wanted(one)]
    for one in found:
        api.delete(f"{pods}/{one['metadata']['name']}")
    return len(found)
