"""Galera: is every member there, in one primary component, and in step (H1)?

Asked inside each member, as the administrator whose password the pod has in a defaults file: it is in no argument.
"""

from __future__ import annotations

from ..kube import ApiError
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
    """Return whether the cluster is whole, its members are synchronised, and each answers."""
    owner, wanted = replicas(context, "mariadb")
    pods = members(context, "mariadb")
    up = running(pods)
    sizes: dict[str, dict[str, str]] = {}
    silent: list[str] = []
    for pod in up:
        status, error = _ask(context, name_of(pod))
        if error:
            silent.append(f"{name_of(pod)}: {error}")
        else:
            sizes[name_of(pod)] = status
    return Verification(
        checks=(
            judge_quorum(wanted, len(up), sizes, owner=owner),
            Check(
                name="answers", ok=not silent and bool(up), layer="database", object=owner,
                detail="; ".join(silent) or f"{len(sizes)} of {wanted} members answer",
            ),
            judge_state(sizes, owner=owner),
        )
    )  # fmt: skip


def judge_quorum(wanted: int, up: int, sizes: dict[str, dict[str, str]], *, owner: str) -> Check:
    """Return whether all ``wanted`` members form one primary component. ``sizes``: wsrep status by member."""
    outside = sorted(name for name, status in sizes.items() if status.get("wsrep_cluster_status") != "Primary")
    smallest = min((int(status.get("wsrep_cluster_size", 0)) for status in sizes.values()), default=0)
    whole = wanted > 0 and not outside and smallest == wanted == up
    if whole:
        detail = f"{smallest} of {wanted} members, Primary"
    else:
        detail = f"{up} of {wanted} Galera members are up, the cluster has {smallest}"
        if outside:
            detail += f"; not in the primary component: {', '.join(outside)}"
        if smallest <= wanted // 2:
            detail += "; that is no majority: what reads and writes here fails while pods still run"
    return Check(name="quorum", ok=whole, detail=detail, layer="database", object=owner)


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
