"""Set a host aside: the run goes on without it, and reports it at the end by a table and the exit code.

Later plays leave out hosts in group `absent`. After each layer the playbook `set_aside` decides, by the plan's limits,
whether the run may go on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from ...module_utils._base.text import aligned, printable
from .layers import ABSENT

FACT = "groundup_aside"  # fact of a host in ABSENT: why it is there
_REMEDY = re.compile(r"^ *remedy: *(.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """A host that a run goes on without."""

    host: str
    layer: str
    reason: str
    remedy: str
    pending: bool = False  # nothing is wrong with it: the run did not wait for it

    def __post_init__(self) -> None:
        """Make reason and remedy printable: the text comes from the host and is untrusted."""
        object.__setattr__(self, "reason", printable(self.reason))
        object.__setattr__(self, "remedy", printable(self.remedy))

    @property
    def said(self) -> str:
        """Warning of the run."""
        return f"{self.host} is set aside in layer {self.layer}: {self.reason}"

    @property
    def advice(self) -> str:
        """Reason and remedy."""
        return f"{self.host}: {self.reason}. Remedy: {self.remedy}"


def failed(host: str, layer: str, result: Mapping[str, Any]) -> Aside:
    """Return the `Aside` of ``host``, whose task failed with ``result``."""
    result = next((one for one in result.get("results") or () if one.get("failed")), result)  # of a loop
    said = str(result.get("msg") or "it failed")
    remedy = _REMEDY.search(said)
    # Output of a module that crashed without a result.
    last = f"{result.get('module_stdout', '')}\n{result.get('module_stderr', '')}".strip().rpartition("\n")[2]
    return Aside(
        host=host,
        layer=layer,
        reason=": ".join(filter(None, (said.splitlines()[0], last))),
        remedy=remedy.group(1) if remedy else "see its error above, then run this again",
    )


def unreachable(host: str, layer: str, said: object) -> Aside:
    """Return the `Aside` of ``host``, which does not answer."""
    return Aside(
        host=host,
        layer=layer,
        reason=f"unreachable: {' '.join(str(said).split())}",
        remedy=f"bring it back and run this again; if it is gone for good: {removal(host)}",
    )


def removal(host: str) -> str:
    """Return the command that removes a machine from the site."""
    return f"ansible-playbook groundup.cloud.remove -e machine={host}"


def result(aside: Aside, of: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the task result that puts the host into `absent`; it keeps the original result ``of``, minus traceback."""
    kept = {key: value for key, value in (of or {}).items() if key != "exception"}
    return {
        **kept,
        "failed": False,
        "add_group": ABSENT,
        "parent_groups": ["all"],
        "ansible_facts": {FACT: asdict(aside)},
        "aside": [asdict(aside)],
        "warnings": [*kept.get("warnings", ()), aside.said],
    }


def over(hosts: Iterable[tuple[str, str]], limits: Mapping[str, int]) -> dict[str, list[str]]:
    """Return the groups with more ``hosts`` (name, group) set aside than their limit, with those hosts."""
    found: dict[str, list[str]] = {}
    for name, group in hosts:
        found.setdefault(group, []).append(name)
    return {group: sorted(names) for group, names in found.items() if len(names) > limits.get(group, 0)}


def table(rows: Sequence[Mapping[str, str]]) -> str:
    """Return a table of host, layer and reason of each row; below those with the same remedy, the remedy."""
    order = {remedy: place for place, remedy in enumerate(dict.fromkeys(row["remedy"] for row in rows))}
    same = groupby(sorted(rows, key=lambda row: (order[row["remedy"]], row["host"])), key=itemgetter("remedy"))
    cells = [("host", "layer", "reason")]
    for remedy, group in same:
        cells += [(row["host"], row["layer"], row["reason"]) for row in group]
        cells.append(("", "", f"remedy: {remedy}"))
    return "\n".join(aligned(cells))
