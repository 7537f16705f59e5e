"""Galera: is every member there, in one primary component, and in step (H1)?

Asked inside each member, as the administrator whose password the pod has in a defaults file: it is in no argument.
"""

from __future__ import annotations

from ...kube.client import ApiError
from ...kube.types import Object, resource_path
from ...kube.workloads import condition
from ..types import Check, Verification
from .context import Context, members, name_of, replicas, running

_DEFAULTS = "/etc/mysql/admin_user.cnf"
_WANTED = ("wsrep_cluster_size", "wsrep_cluster_status", "wsrep_local_state_comment", "wsrep_ready")
_SQL = "SHOW GLOBAL STATUS WHERE Variable_name IN ('" + "','".join(_WANTED) + "')"
_ARGV = (
    "mariadb", f"--defaults-file={_DEFAULTS}", "--host=localhost", "--batch", "--skip-column-names",
    "--connect-timeout=5", f"--execute={_SQL}",
)  # fmt: skip


def verify(context: Context) -> Verification:
    """Return whether the cluster is whole, its members are synchronised, and each answers.

    A member that is not ready is asked too: what it says is why it is not.
    """
    owner, wanted = replicas(context, "mariadb")
    pods = {name_of(pod): pod for pod in members(context, "mariadb")}
    names = [f"{owner.partition('/')[2]}-{ordinal}" for ordinal in range(wanted)]
    statuses: dict[str, dict[str, str]] = {}
    missing: dict[str, str] = {}
    for name in sorted({*names, *pods}):
        reason = _unreachable(context, pods.get(name))
        if not reason:
            statuses[name], reason = _ask(context, name)
        if reason:
            statuses.pop(name, None)
            missing[name] = reason
    return Verification(
        checks=(
            judge_quorum(wanted, statuses, missing, owner=owner),
            Check(
                name="answers", ok=bool(statuses) and not missing, layer="database", object=owner,
                detail=_listed(missing) or f"{len(statuses)} of {wanted} members answer",
            ),
            judge_state(statuses, owner=owner),
        )
    )  # fmt: skip


def judge_quorum(wanted: int, statuses: dict[str, dict[str, str]], missing: dict[str, str], *, owner: str) -> Check:
    """Return whether all ``wanted`` members form one primary component.

    ``statuses``: wsrep status by member that answers. ``missing``: the other members, and why nothing is known of them.
    """
    outside = sorted(name for name, status in statuses.items() if status.get("wsrep_cluster_status") != "Primary")
    sizes = sorted({int(status.get("wsrep_cluster_size", 0)) for status in statuses.values()})
    whole = wanted > 0 and not outside and not missing and sizes == [wanted] and len(statuses) == wanted
    if whole:
        return Check(
            name="quorum", ok=True, detail=f"{wanted} of {wanted} members, Primary", layer="database", object=owner
        )
    said = [f"{len(statuses)} of {wanted} Galera members answer"]
    if statuses:
        said[0] += f" and see a cluster of {' or '.join(map(str, sizes))}"
    if missing:
        said.append(f"missing: {_listed(missing)}")
    if outside:
        said.append(f"not in the primary component: {', '.join(outside)}")
    if not statuses or len(outside) == len(statuses):
        said.append("nobody is in a primary component: what reads and writes here fails, whatever pods still run")
    elif sizes[-1] <= wanted // 2:
        said.append(f"that is no majority of {wanted}")
    return Check(name="quorum", ok=False, detail="; ".join(said), layer="database", object=owner)


def _listed(missing: dict[str, str]) -> str:
    return ", ".join(f"{name} ({reason})" for name, reason in sorted(missing.items()))


def _unreachable(context: Context, pod: Object | None) -> str:
    """Return why a member cannot even be asked, ``""`` when it can."""
    if pod is None:
        return "it has no pod"
    if running([pod]):
        return ""
    started = [
        entry
        for entry in (pod.get("status") or {}).get("containerStatuses") or ()
        if "running" in entry.get("state", {})
    ]
    node = str((pod.get("spec") or {}).get("nodeName") or "")
    if not started:
        return "its container does not run" if node else "its pod has no node"
    found = context.api.find(resource_path("v1", "nodes", name=node))
    if found is None or condition(found, "Ready") != "True":
        return f"its node {node} is not Ready"
    return ""


def judge_state(sizes: dict[str, dict[str, str]], *, owner: str) -> Check:
    """Return whether every member is synchronised and takes queries."""
    behind = sorted(
        f"{name} is {status.get('wsrep_local_state_comment', 'unknown')}"
        for name, status in sizes.items()
        if status.get("wsrep_local_state_comment") != "Synced" or status.get("wsrep_ready") != "ON"
    )
    detail = "; ".join(behind) or ("Synced" if sizes else "no member could be asked")
    return Check(name="state", ok=bool(sizes) and not behind, detail=detail, layer="database", object=owner)


def parse(output: str) -> dict[str, str]:
    """Return the status variables of a tab-separated answer."""
    pairs = (line.split("\t", 1) for line in output.splitlines() if "\t" in line)
    return {name.strip(): value.strip() for name, value in pairs}


def _ask(context: Context, pod: str) -> tuple[dict[str, str], str]:
    try:
        answer = context.api.execute(context.release.namespace, pod, _ARGV, container="mariadb")
    except ApiError as error:
        return {}, error.message
    if answer.code:
        return {}, answer.stderr.strip()[-200:] or f"code {answer.code}"
    return parse(answer.stdout), ""
