"""Table of preflight's results from all hosts: one line per fault, with every host that has it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..module_utils._base.identifiers import scope
from ..module_utils._base.text import few
from .layers import aside
from .plan.output.report import columns

COMPARED = "names"  # check that compares all hosts; which of them is at fault is unknown
_NAMED, _PLACES = 8, 3  # per line: hosts named, hosts shown with their own values
_ORDER = ("error", "warning")
_NEW_IDENTITY = "rm -f /etc/machine-id /var/lib/dbus/machine-id; systemd-machine-id-setup; then restart"
_UNNAMED = frozenset(("", "localhost", "debian"))  # names that installers give to every machine


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One fault, and the hosts that have it, each with its own details."""

    check: str
    severity: str
    what: str
    remedy: str
    hosts: dict[str, str] = field(compare=False)
    hint: str = ""


def lines(found: Mapping[str, Mapping[str, Any]], *, predicts: bool = False) -> list[Line]:
    """Return the lines for ``found`` (host -> module result): errors first, then by number of hosts.

    ``predicts``: in a dry run an unreachable host is only a warning, because later layers skip it.
    """
    grouped: dict[tuple[str, str, str, str], dict[str, str]] = {}
    wires: dict[str, dict[str, list[str]]] = {}  # fault of connections -> host -> other ends
    names = {
        address: host for host, result in found.items() for address in (result.get("facts") or {}).get("addresses", ())
    }
    for host, result in found.items():
        for fault in _faults(host, result, predicts=predicts):
            key = (fault["check"], fault["severity"], fault["what"], fault["remedy"])
            where = fault["where"]
            if peers := fault.get("peers"):
                ends = {address: names.get(address, address) for address in peers}
                wires.setdefault(fault["what"], {})[host] = list(ends.values())
                where = ", ".join(f"{end} ({address}): {peers[address]}" for address, end in ends.items())
            grouped.setdefault(key, {})[host] = where
    made = [
        Line(check=check, severity=severity, what=what, remedy=remedy, hosts=hosts, hint=_bad_end(wires.get(what, {})))
        for (check, severity, what, remedy), hosts in grouped.items()
    ]
    facts = {host: result["facts"] for host, result in found.items() if result.get("facts")}
    made += _collisions(facts, whole=len(facts) == len(found))
    return sorted(made, key=lambda one: (_ORDER.index(one.severity), -len(one.hosts), one.check))


def spared(
    found: Sequence[Line],
    results: Mapping[str, Mapping[str, Any]],
    able: Iterable[str],
    *,
    nodes: Container[str] = (),
) -> list[aside.Aside]:
    """Return the hosts that a run goes on without; empty when an error stops it.

    Only a host of ``able`` (the site has a limit for it) that serves already is set aside; a new one must be corrected.
    ``nodes``: nodes of the cluster, which also serve while ssh fails.
    """
    errors: dict[str, list[Line]] = {}
    for line in found:
        if line.severity == "error":
            for host in line.hosts:
                errors.setdefault(host, []).append(line)
    able = set(able)
    if not all(
        host in able and (host in nodes or _serves(results[host])) and all(line.check != COMPARED for line in own)
        for host, own in errors.items()
    ):
        return []
    return [
        aside.Aside(
            host=host,
            layer="contact",
            reason="; ".join(f"{line.what} ({line.hosts[host]})" for line in own),
            remedy="; ".join(dict.fromkeys(line.remedy for line in own)),
        )
        for host, own in errors.items()
    ]


def table(found: Sequence[Line], *, hosts: int) -> str:
    """Return ``found`` as a table. ``hosts``: number of hosts examined."""
    rows = [
        (
            [one.severity.upper(), one.check],
            [few(one.hosts, most=_NAMED)],
            [one.what, *_places(one.hosts), *filter(None, [one.hint]), f"-> {one.remedy}"],
        )
        for one in found
    ]
    return columns(("PREFLIGHT", "HOSTS", "WHAT, WHERE, REMEDY"), rows, end=summary(found, hosts=hosts))


def summary(found: Sequence[Line], *, hosts: int) -> str:
    """Return the number of hosts with errors, and of those with only warnings."""
    wrong = {host for one in found if one.severity == "error" for host in one.hosts}
    warned = {host for one in found for host in one.hosts} - wrong
    said = [f"{len(wrong)} with errors"] if wrong else []
    said += [f"{len(warned)} with warnings"] if warned else []
    ready = hosts - len(wrong) - len(warned)
    return f"{hosts} host{'s' if hosts != 1 else ''}: {', '.join([*said, f'{ready} without a fault'])}"


def _serves(result: Mapping[str, Any]) -> bool:
    """Say whether a host serves already: by its own facts, or, without them, because the site's ssh key is on it."""
    return bool(result["facts"]["serves"] if "facts" in result else (result.get("contact") or {}).get("placed"))


def _faults(host: str, result: Mapping[str, Any], *, predicts: bool) -> Iterable[Mapping[str, Any]]:
    contact = (result.get("contact") or {}).get("fault")
    if contact:
        where = contact["where"]
        yield {
            "check": "contact",
            "severity": "warning" if predicts else "error",
            "what": contact["what"].removeprefix(f"{host} "),
            "where": where,
            "remedy": contact["remedy"],
        }
    elif "faults" in result:
        yield from result["faults"]
    else:
        said = result.get("msg") or result.get("module_stderr") or result.get("exception") or "no result"
        yield {
            "check": "contact",
            "severity": "error",
            "what": "could not be examined",
            "where": " ".join(str(said).split())[-400:],
            "remedy": "see the error above; -vvv shows all of it",
        }


def _bad_end(wires: Mapping[str, Sequence[str]]) -> str:
    """Return a hint where to look first: the end of ``wires`` (host -> unreachable ends) that most hosts miss."""
    asking: dict[str, list[str]] = {}  # other end -> hosts that cannot reach it
    for host, ends in wires.items():
        for end in ends:
            asking.setdefault(end, []).append(host)
    several = sorted((end for end, hosts in asking.items() if len(hosts) > 1), key=lambda end: -len(asking[end]))
    if not wires:
        return ""
    if not several or len(several) == len(wires.keys() | asking.keys()):
        return "either end may be the bad one, or what is between them"
    shown = (f"{end}: {len(asking[end])} others do not reach it" for end in several[:_PLACES])
    return f"look first at {'; '.join(shown)}"


def _collisions(facts: Mapping[str, Mapping[str, Any]], *, whole: bool) -> Iterable[Line]:
    """Yield faults that only a comparison of all hosts shows: one machine under several names, or shared identities."""
    for identity, hosts in _shared(facts, "machine_id").items():
        same = _proof([set(facts[host]["macs"]) for host in hosts])
        macs = f"machine-id {identity}" + (f", {min(same)}" if same else "")
        yield Line(
            check=COMPARED,
            severity="error",
            what="several names lead to one machine" if same else "several machines have one machine-id",
            remedy="correct their addresses in the site file" if same else f"on all but one: {_NEW_IDENTITY}",
            hosts=dict.fromkeys(hosts, macs),
        )
    for what, fact_of, key in (
        ("virtual IP", "virtual_ip", "address"),
        ("virtual IP for users", "public_ip", "public"),
    ):
        if not (answered := _strangers(facts, fact_of, whole=whole)):
            continue
        first = "" if any(fact.get("ours") for fact in facts.values()) else ", and no host belongs to the site yet"
        yield Line(
            check=COMPARED,
            severity="error",
            what=f"another machine answers for the site's {what}{first}",
            remedy=f"write a free address into edge.{key} of the site file, or take it from that machine",
            hosts={host: f"answer from {mac}" for host, mac in answered.items()},
        )
    for name, hosts in _shared(facts, "hostname").items():
        if name not in _UNNAMED:
            yield Line(
                check=COMPARED,
                severity="warning",
                what=f"several machines call themselves {name}",
                remedy="see that each address leads to the machine you mean; the host layer gives each its own name",
                hosts={host: ", ".join(facts[host]["macs"][:1]) for host in hosts},
            )
    crossed = {
        host: f"it is {fact['hostname']}"
        for host, fact in facts.items()
        if fact["hostname"] != host and fact["hostname"] in facts
    }
    if crossed:
        yield Line(
            check=COMPARED,
            severity="warning",
            what="a machine has the name of another one of this site",
            remedy="see that the site file has the right addresses; the host layer renames the machine",
            hosts=crossed,
        )


def _proof(macs: Sequence[set[str]]) -> set[str]:
    """Return the MAC addresses that prove hosts to be one machine: all of them, when they are the same.

    One in common is no proof: the USB ports that controllers show their machines have one on all of a model.
    """
    usable = [{mac for mac in own if scope(mac) in ("", "local")} for own in macs]
    return usable[0] if all(own == usable[0] for own in usable) else set()


def _strangers(facts: Mapping[str, Mapping[str, Any]], name: str, *, whole: bool) -> dict[str, str]:
    """Return who answered whom for the virtual IP ``name``, unless it may be a host of this site.

    ``whole``: whether all hosts were examined; one that was not may hold it.
    """
    answered = {host: fact[name] for host, fact in facts.items() if fact.get(name)}
    if not any(fact.get("ours") for fact in facts.values()):
        return answered
    known = {mac for fact in facts.values() for mac in fact["macs"]}
    held = any(fact.get(f"holds_{name}") for fact in facts.values())
    return {} if held or not whole else {host: mac for host, mac in answered.items() if mac not in known}


def _shared(facts: Mapping[str, Mapping[str, Any]], name: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for host, fact in facts.items():
        if fact[name]:
            found.setdefault(fact[name], []).append(host)
    return {value: hosts for value, hosts in found.items() if len(hosts) > 1}


def _places(hosts: Mapping[str, str]) -> list[str]:
    different = dict.fromkeys(hosts.values())
    if len(different) == 1:
        return [one for one in different if one]
    shown = [f"{host}: {where}" for host, where in list(hosts.items())[:_PLACES]]
    return [*shown, f"and on {len(hosts) - _PLACES} more hosts" if len(hosts) > _PLACES else ""][: len(hosts)]
