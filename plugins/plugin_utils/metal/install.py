"""Install a site's machines from power-off, in parallel; approve discovered ones."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ...module_utils._base import files
from ...module_utils._base.changes import Changes
from ...module_utils._base.locks import locked
from ..errors import GroundupError
from ..layers.enough import SuccessCriteria, lacking
from ..paths import state_dir
from ..plan.part_types import MetalPlan
from ..plan.platform.metal import to_discover
from ..plan.types import HostPlan, Plan
from ..supply.publish import digests
from ..vault import open_store
from ..vault.names import IRONIC
from . import documents
from .api import Ironic, Watched
from .batch import Batch, Failed
from .cards import not_its_own
from .controller import Controller, Recent, ask
from .decisions import Desk, person
from .delegated import follow, login_of
from .discovery import MachineDiscovery
from .disks import root_device
from .identity import identities
from .journal import Journal, alone, file_of, home_of
from .match import judge
from .page import Page, page_of
from .provision import LEAVES, Deployment, provision
from .queue import QueueLimits, Waiting
from .sighting import read
from .way import MachineCard, next_step


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallOptions:
    """Options of an installation run."""

    at_once: int = 20
    per_rack: int | None = None
    timeout: float = 3600.0
    discovery: float = 600.0  # seconds to wait for undiscovered machines
    pause: float = 5.0
    again: Sequence[str] = ()  # failed machines to start again
    wait_all: bool = False  # for every machine, even when enough serve


def install(
    changes: Changes, plan: Plan, names: Sequence[str], say: Callable[[str], None], options: InstallOptions, *,
    then: Callable[[str], None] | None = None, page: Page | None = None,
) -> Failed:  # fmt: skip
    """Install ``names``, except those already installed. Return the failed ones with errors. Raises GroundupError.

    ``then`` is called with each machine that this run installed, as soon as it has called home. Where the seed's runner
    configures machines, wait for it instead. A LeftError marks a machine that the run goes on without, because enough
    serve. Operators' decisions on ``page`` are acted on meanwhile.
    """
    store = open_store(plan.site, write=False)
    if changes.check:
        store.ensure([IRONIC])  # in memory only
    state, metal = state_dir(plan.site), metal_of(plan, names)
    ca = state / "ca.crt"
    ironic = Watched(
        api=metal.api_url, media=metal.media_url, password=store.get(IRONIC), ca=ca, age=0.8 * options.pause
    )
    if changes.check:
        return _predict(changes, ironic, plan, names)
    site_key = (state / "ssh/id_ed25519.pub").read_text(encoding="utf-8").strip()
    keys = (site_key, *plan.access.authorized_keys, *login_of(plan))
    certificate = ca.read_text(encoding="utf-8")
    image = {"url": f"{metal.files_url}/{metal.image}", "sha256": _digest(plan, metal)}

    left = threading.Event()
    discovered = MachineDiscovery(
        ironic=ironic, plan=plan, home=home_of(plan.site), say=say, seconds=options.discovery, password=store.get,
        left=left,
    )  # fmt: skip

    home = home_of(plan.site)
    desk = Desk(page=page, discovered=discovered, home=home, names=frozenset(names), say=say, again=set(options.again))
    desk.turn()  # decisions since the last run

    def way(name: str) -> bool:
        with alone(home, name):
            return way_of(name)

    def way_of(name: str) -> bool:
        host = discovered.identified(plan.hosts[name])
        password = store.get(str((host.bmc or {}).get("credentials")))
        node = documents.node(plan, host, password=password)

        report = Recent(lambda: ask(ironic, host, password))

        def guard() -> MachineCard | None:
            own = report()
            if own.system:
                node["driver_info"]["redfish_system_id"] = own.system
            known = {name: (who.serial, *who.macs) for name, who in identities(home, plan).items()}
            return not_its_own(plan, host, own, known)

        wanted = Deployment(
            name=name,
            node=node,
            mac=str(documents.boot_port(host, plan.networks).mac),
            image=image,
            root_device=root_device(host.system_disk or {}),
            configdrive=lambda token: documents.configdrive(
                plan, host, ca=certificate, keys=keys, home=f"{metal.media_url}/v1/phone-home", token=token
            ),
            layers=metal.runner.layers if metal.runner else (),
            again=name in desk.again,
            judge=lambda told: _judged(ironic, plan, host, told, report),
            guard=guard,
        )
        journal = Journal(file_of(home, name))
        call, is_new = provision(ironic, wanted, journal, say, timeout=options.timeout, pause=options.pause, left=left)
        if is_new:
            changes.add(f"install {name}")
        remember(changes, state / "ssh/known_hosts", plan, host, call["host_keys"])
        return is_new or journal.lines()[-1].get("state") != "serving"

    if metal.runner:
        then = partial(
            follow, ironic, plan, say=say, timeout=options.timeout, pause=options.pause, left=left
        )  # fmt: skip

    # Machines to discover come last: they must not delay others.
    hosts = sorted((plan.hosts[name] for name in names), key=lambda host: to_discover(host, plan.networks))
    groups = {host.name: host.group for host in hosts}
    absent = {
        group: {host.name: host.rack for host in plan.hosts.values() if host.group == group and host.name not in groups}
        for group in set(groups.values())
    }
    batch = Batch(
        ironic=ironic,
        way=way,
        then=then,
        limits=QueueLimits(at_once=options.at_once, per_rack=options.per_rack),
        groups=groups,
        spare=plan.max_unavailable,
        say=say,
        pause=options.pause,
        enough={} if options.wait_all else _to_reach(plan, groups, absent),
        absent=absent,
        decided=desk.turn,
        left=left,
    )
    critical = {name for name, group in groups.items() if not plan.max_unavailable.get(group)}
    critical |= {name for criteria in plan.enough.values() for name in criteria.critical}
    return batch.run([Waiting(name=host.name, rack=host.rack, critical=host.name in critical) for host in hosts])


def _to_reach(
    plan: Plan, groups: Mapping[str, str], absent: Mapping[str, Mapping[str, str]]
) -> dict[str, SuccessCriteria]:
    """Return the criteria of groups that do not meet them yet. In other groups the run waits for all machines."""
    home = home_of(plan.site)
    dark = {name for name in groups if not Journal(file_of(home, name)).installed}
    found = {}
    for group in set(groups.values()) & set(plan.enough):
        away = {name: plan.hosts[name].rack for name in dark if groups[name] == group} | dict(absent[group])
        if lacking(group, plan.enough[group], away):
            found[group] = plan.enough[group]
    return found


def refuse_others(again: Sequence[str], names: Sequence[str]) -> None:
    """Raise GroundupError if a machine is to begin ``again`` that is not among ``names``."""
    if unknown := sorted(set(again) - set(names)):
        raise GroundupError(
            f"{', '.join(unknown)} cannot begin again",
            where="the variable machine_again",
            why="this run installs no machine of that name",
            remedy=f"name some of {', '.join(names[:20])}",
        )


def metal_of(plan: Plan, names: Sequence[str]) -> MetalPlan:
    """Return the plan of machines from power-off. Raises GroundupError when the site cannot install any."""
    if plan.metal is None:
        raise GroundupError(
            "the site has no seed that could install machines",
            where="machines",
            why=f"{', '.join(names)} start powered off",
            remedy="write a machine of the role seed, and no supply.registry",
        )
    return plan.metal


def approve(changes: Changes, plan: Plan, name: str, say: Callable[[str], None]) -> None:
    """Approve the machine that was matched to ``name``. Raises GroundupError when there is none."""
    metal, state = plan.metal, state_dir(plan.site)
    if metal is None or name not in plan.hosts:
        raise GroundupError(
            f"the site has no machine {name!a}" if metal else "the site has no machines from power-off",
            where="approve_machine",
            why="a machine is approved as one of the site file",
            remedy="give the name of the machine that it is to become: -e approve_machine=NAME",
        )
    store = open_store(plan.site, write=False)
    ironic = Ironic(api=metal.api_url, media=metal.media_url, password=store.get(IRONIC), ca=state / "ca.crt")
    discovered = MachineDiscovery(
        ironic=ironic, plan=plan, home=home_of(plan.site), say=say, seconds=0, password=store.get
    )  # fmt: skip
    found = discovered.waiting(name)
    if not changes.add(f"approve {name}: {found}{f', {found.used}' if found.used else ''}"):
        return
    page, by = page_of(plan), person()
    desk = Desk(page=page, discovered=discovered, home=home_of(plan.site), names=frozenset((name,)), say=say)
    if refused := desk.act({"machine": name, "verb": "approve", "by": by, "about": found.shown}):
        raise GroundupError(
            f"{name} is not approved: {refused}", where=name, why="nothing was changed", remedy="see what waits"
        )
    # The decision stays open: a run under way, or the next one, then starts the machine again.
    if page and (why := page.decide(name, "approve", by, about=found.shown)):
        say(f"the seed's page does not keep who approved {name}: {why}")


def _predict(changes: Changes, ironic: Watched, plan: Plan, names: Sequence[str]) -> Failed:
    failed: Failed = {}
    journals = {name: Journal(file_of(home_of(plan.site), name)) for name in names}
    try:
        nodes = {node["name"]: node for node in ironic.nodes().values()}
    except (GroundupError, OSError):
        if any(journal.installed for journal in journals.values()):
            raise
        nodes = {}  # the seed does not exist yet
    for name, journal in journals.items():
        step = next_step(nodes.get(name), installed=journal.installed)
        if card := LEAVES if journal.leaving else step.card:
            failed[name] = card.at(name)
        elif step.verb != "done":
            changes.add(f"install {name}", name=name, before=f"{step.state}\n", after="installed\n")
    return failed


def _judged(
    ironic: Ironic, plan: Plan, host: HostPlan, told: dict[str, Any] | None, report: Callable[[], Controller]
) -> MachineCard | None:
    """Return why a machine must not be installed, judged by its inventory; None when it may."""
    try:
        return judge(plan, host, read(ironic.node(host.name) or {}, told or {}), report())
    except ValueError as error:
        remedy = "see journalctl -u ironic on the seed, then run this again"
        return MachineCard(
            what=str(error), why="what is there is compared with the plan before it is written over", remedy=remedy
        )


def _digest(plan: Plan, metal: MetalPlan) -> str:
    record = digests.load(plan.site)
    found = record.files.get(metal.image) if record else None
    if found is None:
        raise GroundupError(
            f"the seed does not serve {metal.image}",
            where=f"published.json of {state_dir(plan.site)}",
            why="it is the operating system of machines from power-off",
            remedy="run the playbook groundup.cloud.seed",
        )
    return found


def remember(changes: Changes, path: Path, plan: Plan, host: HostPlan, keys: Sequence[str]) -> None:
    """Replace the ssh host keys of ``host`` in ``path``, a known_hosts file, by ``keys``; remove them without any."""
    names: list[str] = [host.address, host.name, host.fqdn]
    if plan.access.port != 22:
        names = [f"[{name}]:{plan.access.port}" for name in names]
    with locked(path.with_name(".known_hosts.lock")):
        lines = (files.read(path) or "").splitlines()
        mine = [f"{','.join(names)} {key}" for key in keys]
        old: list[str] = [line for line in lines if set(line.split(" ")[0].split(",")) & set(names)]
        if old != mine:  # rewrite only a change: the order of hosts differs from run to run
            others = [line for line in lines if line not in old]
            files.place(changes, path, "".join(f"{line}\n" for line in (*others, *mine)), mode=0o600)
