"""What each host is asked, and the rows of all answers: hosts, virtual IP, OVN, Ceph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ...filter.edge_faults import left_out
from ...module_utils._base.files import read
from ...module_utils._ovn.databases import DATABASES
from ..contact.logins import site_key
from ..layers import aside
from ..layers.layers import groups_of
from ..layers.storage import ADMIN, BACKENDS
from ..metal.journal import Journal, file_of, home_of
from ..monitoring.targets import expected
from ..ovn import record
from ..paths import state_dir
from ..plan.output.serial import site_vars
from ..plan.types import HostPlan, Plan
from ..vault import open_store
from . import watched
from .rows import StatusRow, as_state, run_layer

Results = Mapping[str, Mapping[str, Any]]  # host -> result of the module's step `host`
# Part of a host -> playbook that makes it.
_LAYER = {"edge": "kubernetes", "ceph": "storage"}
_TOLD = ("broken", "unknown", "warning")
_TELLS = frozenset(("host", "seed", "ironic", "kubernetes", "edge", "storage", "network", "hypervisor", "monitoring"))


def not_there(plan: Plan, host: HostPlan) -> str:
    """Return why ``host`` cannot be there yet, so that nobody asks it; "" when it may be."""
    if not site_key(plan.site).is_file():
        return "no run has made the site's ssh key"
    if host.provisioner == "container" and not (state_dir(plan.site) / "lab" / host.name).is_dir():
        return "the lab's host is not made yet"
    if host.provisioner == "ironic" and not Journal(file_of(home_of(plan.site), host.name)).installed:
        return "the seed has not installed it yet"
    return ""


def groups(plan: Plan, host: HostPlan) -> tuple[str, ...]:
    """Return the groups of ``host``: its roles, and one a layer."""
    backend = plan.ceph.backend if plan.ceph else "none"
    return groups_of(
        host.roles, node=bool(host.node_labels), services=plan.openstack.services, backend=backend,
        monitoring=plan.monitoring is not None,
    )  # fmt: skip


def wanted(plan: Plan, host: HostPlan) -> dict[str, Any]:
    """Return what the host is asked, by part: the options of each part's verification.

    They are those that the role of the layer gives its modules (test_options).
    """
    own, authority = groups(plan, host), (read(state_dir(plan.site) / "ca.crt") or "").rstrip("\n")
    asked: dict[str, Any] = {
        "host": {
            "site": plan.site, "names": plan.host.names, "dns_servers": list(host.dns_servers or plan.host.dns_servers),
            "domain": plan.domain, "sysctl": plan.host.sysctl, "updates": plan.host.updates, "user": plan.access.user,
            "ca_certificate": authority, "trusted_cas": list(plan.host.trusted_cas),
        }
    }  # fmt: skip
    if "seed" in own:
        asked["seed"] = {}
        asked |= {"ironic": {}} if plan.metal else {}
    if "kubernetes" in own:
        cluster = site_vars(plan)["kubernetes"]
        asked["kubernetes"] = {
            "site": plan.site, "name": host.name, "address": host.address, "control": "control" in host.roles,
            "cluster": cluster,
        }  # fmt: skip
    if host.name in plan.edge.hosts and plan.edge.kind == "haproxy":
        asked["edge"] = {"virtual_ip": plan.edge.address, "public_ip": users_address(plan)}
    if "ceph" in own:
        asked["storage"] = {}
    if _asks_ceph(plan, host):
        asked["ceph"] = _ceph(plan, host)
    if "network" in own:
        asked["network"] = _central(plan, host)
    if plan.monitoring and host.name == plan.monitoring.host:
        asked["monitoring"] = {"targets": expected(plan)}
    if "compute" in own:
        asked["hypervisor"] = {
            "name": host.name,
            "release": plan.openstack.release,
            "upgrading": plan.openstack.upgrading,
            "programs": plan.hypervisor.programs,
            "cards": [asdict(one) for one in plan.hypervisor.sriov.get(host.hardware, ())],
        }
    return asked


def users_address(plan: Plan) -> str:
    """Return the virtual IP for users, "" where it is everybody's or nothing is served at it."""
    return plan.edge.public.address if plan.edge.public and plan.edge.endpoints else ""


def _asks_ceph(plan: Plan, host: HostPlan) -> bool:
    if plan.ceph is None or not plan.ceph.make:
        return False
    if BACKENDS[plan.ceph.backend].clients:
        return "control" in host.roles
    return host.name in {one.name for one in plan.ceph.monitors}


def _ceph(plan: Plan, host: HostPlan) -> dict[str, Any]:
    ceph = site_vars(plan)["ceph"]
    osds = sum(len(ceph["osds"].get(one.hardware, ())) for one in plan.hosts.values() if "storage" in one.roles)
    key = open_store(plan.site, write=False).items().get(ADMIN, "")
    return {"name": host.name, "ceph": ceph, "keys": {ADMIN: key}, "osds": osds if ceph["backend"] == "native" else 0}


def _central(plan: Plan, host: HostPlan) -> dict[str, Any]:
    nodes = sorted(one.address for one in plan.hosts.values() if one.node_labels)
    peers = [one.address for one in plan.hosts.values() if "network" in groups(plan, one) and one is not host]
    return {
        "name": host.name, "address": host.address, "peers": peers, "nodes": [*nodes, plan.kubernetes.pod_cidr],
        "northbound": list(plan.ovn.northbound), "southbound": list(plan.ovn.southbound), "step": "verify",
        "election_timer": plan.ovn.election_timer, "inactivity_probe": plan.ovn.inactivity_probe,
        "clusters": record.known(plan.site), "packages": [], "create": [],
        "certificate": "", "private_key": "", "ca_certificate": "", "hypervisor_ca": "",
    }  # fmt: skip


def host_rows(plan: Plan, said: Results) -> list[StatusRow]:
    """Return one row a host: whether it answers, and the state of each layer on it."""
    away = [(name, plan.hosts[name].group) for name, one in said.items() if "fault" in one]
    over = aside.over(away, plan.max_unavailable)
    silent = [name for name, one in said.items() if "parts" not in one]
    rows = []
    for name, one in said.items():
        host = plan.hosts[name]
        facts = {"group": host.group, "rack": host.rack, "address": host.address, "reachable": "parts" in one}
        if why := one.get("not_there"):
            what, remedy = f"not made yet: {why}", run_layer("site")
            rows.append(StatusRow(name=name, state="not made", what=what, remedy=remedy, facts=facts))
        elif "parts" not in one:
            then = "would stop" if host.group in over else "would go on without it"
            facts["set_aside"] = host.group not in over
            what = f"{one.get('fault') or one.get('msg') or 'no answer'}; a run {then}"
            rows.append(StatusRow(name=name, state="unknown", what=what, remedy=_bring_back(name), facts=facts))
        else:
            parts = dict(one["parts"])
            if "monitoring" in parts:
                parts["monitoring"] = watched.judged(plan, parts["monitoring"], without=silent)
            rows.append(_of_layers(name, {**one, "parts": parts}, facts))
    return rows


def _bring_back(name: str) -> str:
    return f"bring it back; if it is gone for good: {aside.removal(name)}"


def _of_layers(name: str, one: Mapping[str, Any], facts: dict[str, Any]) -> StatusRow:
    parts = {part: found for part, found in one["parts"].items() if part in _TELLS}
    layers = {part: found["state"] for part, found in parts.items()}
    facts |= {"layers": layers, **{key: one[key] for key in ("debian", "kernel", "uptime", "snapshot")}}
    by_state: dict[str, list[str]] = {}
    for part, state in layers.items():
        by_state.setdefault(state, []).append(part)
    lines = [f"{part}: {parts[part]['why']}" for kind in _TOLD for part in by_state.get(kind, ())]
    lines += [f"not made yet: {', '.join(by_state['not made'])}"] if "not made" in by_state else []
    lines += [", ".join(by_state["ok"])] if "ok" in by_state else []
    state = next((one for one in ("broken", "unknown", "not made", "warning") if one in by_state), "ok")
    first = by_state[state][0] if layers else ""
    remedy = "" if state == "ok" else parts[first].get("remedy") or run_layer(_LAYER.get(first, first))
    return StatusRow(name=name, state=as_state(state), what="; ".join(lines), remedy=remedy, facts=facts)


def address_rows(plan: Plan, said: Results, faults: Sequence[str]) -> list[StatusRow]:
    """Return who holds the virtual IP. ``faults``: what is wrong with the edge, by all answers."""
    if not plan.edge.hosts or plan.edge.kind != "haproxy":
        return []
    asked = {name: one["parts"]["edge"] for name, one in said.items() if "edge" in one.get("parts", {})}
    found = {name: one for name, one in asked.items() if "listeners" in one}
    holders = [name for name, one in found.items() if one["holds_address"]]
    silent = [name for name in plan.edge.hosts if name not in asked]
    facts = {"holders": holders, "hosts": list(plan.edge.hosts)}
    out = [*left_out(found)]
    state, what, remedy = "ok", f"held by {', '.join(holders)}", ""
    if asked and all(one["state"] == "not made" for one in asked.values()):
        state, what, remedy = "not made", "not made yet", run_layer("kubernetes")
    elif all("not_there" in said.get(name, {}) for name in plan.edge.hosts):
        state, what, remedy = "not made", "not made yet", run_layer("site")
    elif not holders and silent:
        state, what = "unknown", f"no host that answers holds it; not asked: {', '.join(silent)}"
    elif set(faults) - set(out) or not holders:
        state, what = "broken", "; ".join(faults) or "no control host holds it"
        remedy = "on the control hosts: journalctl -n 50 -u keepalived -u haproxy"
    elif out:
        state, what, remedy = "warning", "; ".join([what, *out]), run_layer("kubernetes")
    return [StatusRow(name=plan.edge.address, state=as_state(state), what=what, remedy=remedy, facts=facts)]


def ovn_rows(plan: Plan, said: Results) -> list[StatusRow]:
    """Return one row a member of OVN's databases, and one for each thing that all of them lack."""
    names = [name for name, host in plan.hosts.items() if "network" in groups(plan, host)]
    answers = {name: said.get(name, {}).get("parts", {}).get("network") for name in names}
    rows = [_member(name, found, said.get(name, {})) for name, found in answers.items()]
    members = [found for found in answers.values() if found and "members" in found]
    if not members or len(members) < len(names):  # the others may lead
        return rows
    leads = {short for one in members for short, member in one["members"].items() if member["role"] == "leader"}
    active = sum(one["northd"] == "active" for one in members)
    lost = [f"{one.name} has no leader" for one in DATABASES if one.short not in leads]
    lost += [] if active == 1 else [f"northd is active on {active} hosts"]
    return rows + [StatusRow(name="all", state="broken", what=one, remedy=run_layer("network")) for one in lost]


def _member(name: str, found: Mapping[str, Any] | None, said: Mapping[str, Any]) -> StatusRow:
    if found is None:
        if "not_there" in said:
            return StatusRow(name=name, state="not made", what="not made yet", remedy=run_layer("site"))
        return StatusRow(name=name, state="unknown", what="its host does not answer")
    if found["state"] == "not made":
        return StatusRow(name=name, state="not made", what="not made yet", remedy=run_layer("network"))
    facts = {"members": found.get("members", {}), "northd": found.get("northd")}
    roles = [f"{short} {one['role']}" for short, one in facts["members"].items()]
    what = "; ".join(filter(None, (found["why"], ", ".join([*roles, f"northd {facts['northd']}"]))))
    return StatusRow(name=name, state=found["state"], what=what, remedy=found.get("remedy", ""), facts=facts)


def ceph_rows(plan: Plan, said: Results) -> list[StatusRow]:
    """Return one row for the cluster, by the first host that it answers to."""
    if plan.ceph is None:
        return []
    name = f"Ceph ({plan.ceph.backend})"
    if not plan.ceph.make:
        return [StatusRow(name=name, state="ok", what="not asked: who runs it looks after it (make: false)")]
    answers = [one["parts"]["ceph"] for one in said.values() if "ceph" in one.get("parts", {})]
    if not answers:
        if any("fault" in one for one in said.values()):
            return [StatusRow(name=name, state="unknown", what="no host that asks it answers")]
        return [StatusRow(name=name, state="not made", what="not made yet", remedy=run_layer("site"))]
    found = next((one for one in answers if "health" in one), answers[0])
    facts = {key: found[key] for key in ("health", "osds", "bytes", "monitors", "versions") if key in found}
    if "health" in found:
        osds, use = found["osds"], found["bytes"]
        share = f", {100 * use['used'] / use['total']:.0f} % of {_size(use['total'])} used" if use["total"] else ""
        facts["used"] = use["used"] / use["total"] if use["total"] else 0.0
        what = f"{found['health']}, {osds['up']} of {osds['known']} OSDs up{share}"
        what = f"{found['why']}; {what}" if found["why"] else what
    else:
        what = found.get("why") or "not made yet"
    remedy = found.get("remedy", "") or ("run the playbook groundup.cloud.storage" if found["state"] != "ok" else "")
    return [StatusRow(name=name, state=found["state"], what=what, remedy=remedy, facts=facts)]


def _size(number: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1024:
            return f"{number:.0f} {unit}"
        number /= 1024
    return f"{number:.1f} TiB"


def certificates_of(said: Results) -> Iterable[tuple[str, str, int]]:
    """Yield kind, place and days left of each certificate that hosts have."""
    for host, one in said.items():
        parts = one.get("parts", {})
        for file, days in (parts.get("kubernetes", {}).get("certificates") or {}).items():
            yield _kind(file), f"{file} of {host}", days
        for part, kind in (("network", "OVN's databases"), ("hypervisor", "hypervisors")):
            if (days := parts.get(part, {}).get("certificate")) is not None:
                yield kind, f"of {host}", days


def _kind(file: str) -> str:
    if file.startswith("kubelet-client"):
        return "kubelets"
    return "the cluster's CAs" if Path(file).stem in ("ca", "front-proxy-ca") else "the control plane"
