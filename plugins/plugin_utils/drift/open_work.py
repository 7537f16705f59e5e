"""What is under way on a site, so that nothing runs unattended beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from ..backup.restore import journal as restores
from ..kube import held_lease, run_lease
from ..kube.access import kubeconfig_path
from ..kube.client import Api
from ..patch import journal as maintenance
from ..paths import state_dir
from ..pki import anew
from ..plan.types import Plan
from ..rollout.apply import lease
from ..status.upkeep import machine_rows
from ..upgrade.journal import KUBERNETES, OPENSTACK, under_way
from ..vault import open_store
from ..vault.rotation import passing

# Playbooks that change nothing, and those that timers run every few minutes.
_BESIDE = frozenset(
    ("backup_logs", "capacity", "drift", "hypervisor_failure", "status", "usage"),
)
_PLAYBOOK = re.compile(r"(?:groundup\.cloud\.|(?:.*/)?playbooks/)(\w+)(?:\.yml)?")


def open_work(plan: Plan, site_file: str) -> Iterator[str]:
    """Yield each verb that has begun and not ended, and each run. Raises GroundupError for what cannot be read."""
    site = plan.site
    for what in (KUBERNETES, OPENSTACK):
        if begun := under_way(site, what):
            yield f"an upgrade of {what.name} to {begun.target}"
    if restore := restores.under_way(site):
        yield f"a restore of {', '.join(restore.parts)}"
    yield from (f"maintenance of {host}" for host in maintenance.hosts(site))
    yield from (f"{row.name}: {row.what}" for row in machine_rows(plan))
    if anew.since(state_dir(site)) or any(map(passing, open_store(site, write=False).names())):
        yield "a rotation"
    yield from (f"groundup.cloud.{name} on this machine" for name in sorted(_runs(Path(site_file)) - _BESIDE))
    if (kubeconfig := kubeconfig_path(site)).is_file():
        api = Api(kubeconfig, timeout=run_lease.PATIENCE, patience=0)
        ours = plan.openstack.namespace
        for space, name in ((run_lease.NAMESPACE, run_lease.NAME), (ours, lease.NAME), (ours, held_lease.RESOURCES)):
            found = run_lease.Lease(api, namespace=space, name=name, me="", seconds=0).find()
            if found and not run_lease.abandoned(found):
                yield f"a run that holds the lease {name}: {run_lease.holder(found)}"


def _runs(site_file: Path) -> set[str]:
    """Return the playbooks of this collection that run on this machine with ``site_file``.

    One that names no inventory has it by Ansible's own configuration, perhaps.
    """
    found = set[str]()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_text(encoding="utf-8", errors="replace").split("\0")
            if any(Path(word).name == "ansible-playbook" for word in words[:3]):
                inventories = [process / "cwd" / word for word in _inventories(words)]
                if not inventories or any(_has(one, site_file) for one in inventories):
                    found |= {named[1] for word in words if (named := _PLAYBOOK.fullmatch(word))}
    return found


def _inventories(words: Sequence[str]) -> Iterator[str]:
    """Yield the inventories that the ``words`` of a command name."""
    for word, following in zip(words, [*words[1:], ""], strict=True):
        option, equals, value = word.partition("=")
        if option in ("-i", "--inventory", "--inventory-file"):
            yield value if equals else following
        elif word.startswith("-i"):
            yield word.removeprefix("-i")


def _has(inventory: Path, site_file: Path) -> bool:
    """Return whether ``inventory`` is ``site_file``, or a directory that Ansible finds it in."""
    if inventory.is_dir():
        return inventory.resolve() in site_file.resolve().parents
    return inventory.exists() and inventory.samefile(site_file)
