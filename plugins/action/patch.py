"""Action of module groundup.cloud.patch: what hosts say, the report, and each host's way through its maintenance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, ClassVar

from ansible.errors import AnsibleConnectionFailure

from ..module_utils._base.files import read
from ..module_utils._base.wait import wait_until
from ..plugin_utils import site_identity
from ..plugin_utils.actions import ended
from ..plugin_utils.backup.restore import journal as restores
from ..plugin_utils.ceph_action import CephAction
from ..plugin_utils.errors import GroundupError
from ..plugin_utils.kube import run_lease
from ..plugin_utils.ovn import record
from ..plugin_utils.patch import beside, decide, journal, report
from ..plugin_utils.patch.decide import LIGHT
from ..plugin_utils.patch.run import AGAIN, HostRun, refuse_crowd, release
from ..plugin_utils.paths import state_dir
from ..plugin_utils.pki import openpgp
from ..plugin_utils.plan import Plan, load_site
from ..plugin_utils.plan.types import HostPlan
from ..plugin_utils.status import hosts
from ..plugin_utils.status.asking import AskingAction
from ..plugin_utils.supply.publish import snapshots
from ..plugin_utils.upgrade.journal import live_plan

_BAD = ("broken", "unknown")
_PAUSE = 5.0  # seconds between two looks at a host that starts


class ActionModule(AskingAction, CephAction):
    """One step: on one host, or of all."""

    RULES: ClassVar = {"required_if": [("step", "report", ("hosts",)), ("step", "room", ("hosts",))]}

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        plan = live_plan(load_site(given["site_file"]))
        site_identity.refuse_other(plan, self.variables.get("site_force") or ())
        decide.check_groups(given["groups"])
        if given["step"] == "look":
            return self.ask(plan, "look", lambda host: _asked(plan, host), proof="restarts")
        if given["step"] in ("report", "room", "close"):
            return getattr(self, f"_{given['step']}")(plan, given)  # type: ignore[no-any-return]
        host = plan.hosts[self.variables["inventory_hostname"]]
        way = HostRun(
            plan=plan, host=host, site_file=given["site_file"], timeout=given["timeout"], say=self._display.display
        )
        if given["step"] == "peer":
            return {"changed": False, "lacks": self._ills(replace(way, host=plan.hosts[given["host"]]))}
        # Of every host, also those that are no nodes: a second run would take one for what a killed run left.
        with run_lease.kept(plan.site):
            return self._on_the_way(way, given)

    def _on_the_way(self, way: HostRun, given: dict[str, Any]) -> dict[str, Any]:
        """Return the result of a step of a host's maintenance."""
        if given["step"] in ("stand_down", "halt"):
            return self._controls(way, given["step"])
        if given["step"] in ("rest", "rise"):
            options = {"name": way.host.name, "timeout": given["timeout"]}
            return self.ask_ceph(way.plan, options, step=given["step"])
        return getattr(self, f"_{given['step']}")(way, given)  # type: ignore[no-any-return]

    def _said(self, plan: Plan, given: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return what hosts said to `look`."""
        variables = self.variables["hostvars"]
        said = {name: dict(variables[name].get(given["result"]) or {}) for name in given["hosts"] if name in plan.hosts}
        for one in said.values():
            for key in ("changed", "failed", "ansible_facts"):
                one.pop(key, None)
        return said

    def _report(self, plan: Plan, given: dict[str, Any]) -> dict[str, Any]:
        """Print what would change. Without ``apply``, a host that could not be asked ends the run as unknown."""
        said = self._said(plan, given)
        found = report.document(
            plan, said, snapshots=_places(plan), time=datetime.now(UTC).isoformat(timespec="seconds"),
            groups=given["groups"], resting=[name for name in journal.hosts(plan.site) if name in said],
            strange=beside.strangers(plan),
        )  # fmt: skip
        self.tell(found, report.table(found), output=given["output"], path=given["path"])
        if given["apply"]:
            restores.refuse_beside(plan.site, why=restores.HALF)
            beside.refuse(plan)
            return {"changed": False, "patch": found, "order": found["order"]}
        unknown = any("changes" not in one for one in said.values())
        return ended(report.summary(found), unknown=unknown) | {"patch": found, "order": []}

    def _room(self, plan: Plan, given: dict[str, Any]) -> dict[str, Any]:
        """Refuse a batch beside another run, and one with which too many hosts of a group would be missing."""
        warnings = run_lease.of_site(plan.site)
        everybody = [*self.variables["hostvars"]]
        said = self._said(plan, {**given, "hosts": everybody})
        refuse_crowd(plan, given["hosts"], [name for name, one in said.items() if one and "changes" not in one])
        return {"changed": False, **({"warnings": warnings} if warnings else {})}

    def _close(self, plan: Plan, given: dict[str, Any]) -> dict[str, Any]:
        """Name what was left out, and end as failed; as unknown for hosts that could not be asked."""
        release(plan.site)
        said = self._said(plan, given)
        found = report.works(plan, said, groups=given["groups"])
        left = {name: one.refused for name, one in found.items() if one.refused}
        if left:
            raise GroundupError(
                f"{len(left)} hosts were left out: {', '.join(left)}", where=f"{plan.site}, the table above has why",
                why="their packages are as they were", remedy="patch these by hand, as the page patch says",
            )  # fmt: skip
        silent = [name for name, one in said.items() if "changes" not in one]
        return ended(f"could not be asked: {', '.join(silent)}" if silent else "", unknown=bool(silent))

    def _begin(self, way: HostRun, given: dict[str, Any]) -> dict[str, Any]:
        """Empty the host, if what is done to it is felt. One that is not well is not begun."""
        said = self.variables[given["result"]]
        work = decide.work(way.plan, way.host, said, groups=given["groups"])
        if work.emptied and way.record is None and (ills := self._ills(way)):
            raise GroundupError(
                f"{way.host.name} is not well: {ills}", where=f"host {way.host.name}",
                why="after the upgrade nobody could say what made it so; nothing was changed",
                remedy="see groundup.cloud.status; put it right, then run this again",
            )  # fmt: skip
        if way.control and (work.emptied or way.record) and (lacking := self._lacking(way, given["peers"])):
            raise GroundupError(
                f"the site does not do without {way.host.name} now: {'; '.join(lacking)}",
                where=f"host {way.host.name}, the other control hosts",
                why="with it etcd, a database or a queue may lose its quorum; nothing was changed",
                remedy="see groundup.cloud.status; put that right, then run this again",
            )
        return way.begin(work, said["boot"]) | {"packages": list(work.packages)}

    def _upgrade(self, way: HostRun, given: dict[str, Any]) -> dict[str, Any]:
        """Upgrade the packages that were told; return whether the host reboots then."""
        found = journal.change(way.plan.site, way.host.name, upgraded=True)
        work = decide.work(way.plan, way.host, self.variables[given["result"]], groups=given["groups"])
        options = {
            **_source(way.plan, way.host.name), "packages": list(work.packages),
            "reboot": bool(found and found.reboot), "restart": None if found else sorted(LIGHT),
        }  # fmt: skip
        try:
            done = self.on_host(step="upgrade", given=options)
        except AnsibleConnectionFailure as error:
            raise _unreachable(way, error) from error
        if done.get("failed"):
            return done
        waits = [*done["reboot_waiting"]]
        if found and waits and way.host.provisioner != "container":  # nothing starts a host of the lab again
            reasons = (*found.reboot, *(one for one in waits if one not in found.reboot))
            found = journal.change(way.plan.site, way.host.name, boot=done["boot"], reboot=reasons)
        reboots = bool(found and found.reboot and found.boot == done["boot"])
        left = [] if reboots else [*done["waiting"], *waits]
        told = [f"{way.host.name}: still run what was upgraded: {', '.join(left)}"] if left else []
        return done | {"reboot": reboots, "warnings": told}

    def _serve(self, way: HostRun, _: dict[str, Any]) -> dict[str, Any]:
        """Wait until the host serves again: its Node, and every layer on it."""
        found: dict[str, Any] = {}

        def silent() -> str:
            found.clear()
            found.update(self.ask(way.plan, "boot", lambda _: {}, proof="boot"))
            return str(found.get("fault") or found.get("not_there") or "")

        if why := wait_until(silent, timeout=way.timeout, pause=_PAUSE):
            raise _unreachable(way, why)
        if way.record and way.control and (done := self._controls(way, "stand_up")).get("failed"):
            return done
        if way.record:
            way.serving(found["boot"])
            if ills := wait_until(lambda: self._ills(way), timeout=way.timeout, pause=_PAUSE):
                raise GroundupError(
                    f"{way.host.name} is not well after its upgrade: {ills}", where=f"host {way.host.name}",
                    why="the next host goes into maintenance only when this one serves",
                    remedy=f"put that right; then {AGAIN}",
                )  # fmt: skip
        return {"changed": False}

    def _end(self, way: HostRun, _: dict[str, Any]) -> dict[str, Any]:
        return way.give_back()

    def _give_up(self, way: HostRun, given: dict[str, Any]) -> dict[str, Any]:
        """Set the host aside. A control host whose packages are as they were takes back what it handed over.

        One that cannot, or does not answer, stays in maintenance: what goes on with it is the next run. So does one
        from which a former run has taken instances or data, and which this run has not begun with.
        """
        found = way.record
        kept = "what a former run took from it is not back" if given["resting"] and way.empties else ""
        if way.control and found and not found.upgraded:
            try:
                done = self._controls(way, "stand_up")
                kept = str(done.get("msg")) if done.get("failed") else kept
            except GroundupError as error:
                kept = error.what
        return way.give_up(given["failure"], kept=kept)

    def _lacking(self, way: HostRun, peers: list[dict[str, Any]]) -> list[str]:
        """Return what the site lacks to do without a control host. ``peers``: what the others said of themselves."""
        said = {str(one.get("item")): one.get("lacks", "no answer") for one in peers}
        others = (name for name in decide.control_hosts(way.plan) if name != way.host.name)
        found = [f"{name}: {why}" for name in others if (why := said.get(name, "it was not asked"))]
        done = self._controls(way, "spare")
        return [*found, *done.get("lacking", [str(done.get("msg") or "no answer")]), *way.lacking()]

    def _controls(self, way: HostRun, step: str) -> dict[str, Any]:
        """Return what the control host says to a step of its maintenance. Raises GroundupError when it is silent."""
        plan, host = way.plan, way.host
        others = {name: one.address for name, one in decide.control_hosts(plan).items() if one is not host}
        peers = [one.address for one in plan.hosts.values() if "network" in hosts.groups(plan, one) and one is not host]
        try:
            return self.on_host(step=step, given={
                "name": host.name, "address": host.address, "api_port": plan.kubernetes.api_port, "others": others,
                "virtual": _virtual(plan), "peers": peers, "clusters": record.known(plan.site), "timeout": way.timeout,
            })  # fmt: skip
        except AnsibleConnectionFailure as error:
            raise _unreachable(way, error) from error

    def _ills(self, way: HostRun) -> str:
        """Return what is wrong with the layers on the host, as `status` finds it; "" when nothing is.

        Of the whole of Ceph, `rest` and `rise` judge: to `status` it is not well while a host rests.
        """
        asked = {part: one for part, one in hosts.wanted(way.plan, way.host).items() if part != "ceph"}
        try:
            done = self._execute_module(
                module_name="groundup.cloud.status", task_vars=self.variables,
                module_args={"step": "host", "given": {"wanted": asked}},
            )  # fmt: skip
        except AnsibleConnectionFailure as error:
            return f"unreachable: {error}"
        if "parts" not in done:
            return str(done.get("msg") or "no answer")
        return "; ".join(f"{part}: {one['why']}" for part, one in done["parts"].items() if one["state"] in _BAD)


def _unreachable(way: HostRun, why: object) -> GroundupError:
    begun = "it is in maintenance, and " if way.record else ""
    return GroundupError(
        f"{way.host.name} is unreachable: {' '.join(str(why).split())}", where=f"host {way.host.name}",
        why=f"{begun}nobody knows how far its upgrade is", remedy="bring it back (its console)",
    )  # fmt: skip


def _asked(plan: Plan, host: HostPlan) -> dict[str, Any]:
    return {**_source(plan, host.name), "virtual": [*_virtual(plan)] if host.name in plan.edge.hosts else []}


def _virtual(plan: Plan) -> dict[str, int]:
    """Return the virtual IPs, each with a port that answers."""
    users = hosts.users_address(plan)
    return {plan.edge.address: plan.kubernetes.endpoint_port, **({users: 443} if users else {})}


def _places(plan: Plan) -> dict[str, str]:
    return snapshots.places(snapshots.load(plan.site), plan.supply.packages)


def _source(plan: Plan, host: str) -> dict[str, Any]:
    """Return the options of the module: the seed's packages, as the role host gives them."""
    directory = state_dir(plan.site)
    seed = {
        "url": f"file:{plan.supply.files_root}" if host == plan.supply.seed else plan.supply.files_url,
        "places": _places(plan),
        "key": read(directory / openpgp.FILE) or "",
    }
    return {
        "packages_seed": seed if plan.supply.packages else None,
        "ca_certificate": read(directory / "ca.crt") or "",
    }
