"""The run of a layer by ansible-runner. Its dry run: what it would change, and whom it could not ask.

Each layer runs for itself, so that one which stops hides no other.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from ansible import context

from ...module_utils._base.run import COLOUR
from ...module_utils._base.text import printable
from ..layers.layers import ABSENT, LAYERS
from ..layers.position import has_hosts
from ..metal.runner import fault, last_words
from ..plan.types import Plan
from ..status.rows import run_layer
from .rows import DriftRow

AT_ONCE = 3
_TEXTS = ("changes", "objects", "nodes", "claimed")  # of a result: what was changed, a line each
_MARKS = ("+ ", "~ ", "- ", "! ")  # of a diff of releases: a line with one names an object, those below it fields
_RECORD = "Helm's record is of another render"
_SET_ASIDE = "groundup.cloud.set_aside"  # hosts that a task before it told
_HIDDEN = "changes whose result is hidden"
_ENDED = {0, 2, 4}  # exit codes of a run that says why it did not do all


def layers(plan: Plan, groups: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the layers that the site has. ``groups``: hosts by the inventory's group."""
    found = [name for name, one in LAYERS.items() if has_hosts(one, groups)]
    # An external Ceph has no hosts here.
    return [name for name in LAYERS if name in found or (name == "storage" and plan.ceph)]


def rows(site_file: str, names: Sequence[str], *, absent: Iterable[str]) -> list[DriftRow]:
    """Return what the dry runs of the layers ``names`` say. Hosts ``absent`` are left out: they have rows already.

    What several layers look after, such as secrets, is the first one's.
    """
    with TemporaryDirectory(prefix="groundup-drift-") as home, ThreadPoolExecutor(AT_ONCE) as pool:
        left_out = Path(home, "absent.yml")
        left_out.write_text(yaml.safe_dump({ABSENT: {"hosts": {name: {} for name in absent}}}), encoding="utf-8")
        one = partial(_run, Path(home), [*_inventories(site_file), str(left_out)])
        return merged(row for found in pool.map(one, names) for row in found)


def apply(site_file: str, layer: str, *, say: Callable[[str], None]) -> str:
    """Run the playbook of ``layer`` as a person does, and ``say`` what it printed; return why it failed, "" if not."""
    with TemporaryDirectory(prefix="groundup-heal-") as home:
        ended = _play(Path(home), _inventories(site_file), layer)
        with ended.stdout as printed:
            say(COLOUR.sub("", printed.read()))
        return printable(fault(ended))


def merged(found: Iterable[DriftRow]) -> list[DriftRow]:
    """Return rows without those of a file or object that an earlier layer tells too."""
    first: dict[tuple[str, str, str], DriftRow] = {}
    for row in found:
        own = row.unknown or row.what.endswith(_HIDDEN)
        first.setdefault((row.layer if own else "", row.host, row.what), row)
    return list(first.values())


def _inventories(site_file: str) -> list[str]:
    """Return those of this run."""
    return [*(context.CLIARGS.get("inventory") or [str(Path(site_file).absolute())])]


def _run(home: Path, inventory: list[str], layer: str) -> list[DriftRow]:
    ended = _play(home, inventory, layer, "--tags check")
    return told(layer, list(ended.events), code=ended.rc)


def _play(home: Path, inventory: list[str], layer: str, options: str = "") -> Any:
    import ansible_runner  # late: it takes half a second, and hosts are asked before

    path = f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}"
    directory = home / layer
    directory.mkdir()
    return ansible_runner.run(
        private_data_dir=str(directory),
        project_dir=os.getcwd(),  # noqa: PTH109  # the runner takes text
        inventory=inventory,
        playbook=f"groundup.cloud.{layer}",
        cmdline=options,
        # By default ansible-runner turns host key checking off, and that overrides the inventory.
        envvars={"ANSIBLE_HOST_KEY_CHECKING": "True", "ANSIBLE_FORCE_COLOR": "0", "GROUNDUP_TIMELINE": os.devnull,
                 "PATH": path, "GROUNDUP_WITHIN_RUN": "1" if options else ""},
        quiet=True,
        suppress_env_files=True,
    )  # fmt: skip


def told(layer: str, events: Sequence[Mapping[str, Any]], *, code: int | None) -> list[DriftRow]:
    """Return what the events of one layer's dry run say; ``code``: its exit code."""
    found = [row for event in events for row in _of_event(layer, event)]
    remedy = run_layer(layer)
    found += [
        DriftRow(layer=layer, host=host, what=f"{number} {_HIDDEN}", remedy=remedy)
        for host, number in hidden(events).items()
    ]
    if code not in _ENDED or (code and not any(row.unknown for row in found)):
        how = f"its dry run ended with {code}{last_words(events)}" if code else "its dry run was killed"
        found.append(DriftRow(layer=layer, host="localhost", what=how, remedy=f"{remedy}, tag check", unknown=True))
    return found


def hidden(events: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Return by host how many changes have a result that `no_log` hides: the recap alone counts them."""
    counted: Counter[str] = Counter()
    for event in events:
        data = event.get("event_data", {})
        if event["event"] == "runner_on_ok" and data.get("res", {}).get("changed"):
            counted[str(data["host"])] -= 1
        elif event["event"] == "playbook_on_stats":
            counted.update(data["changed"])
    return {host: number for host, number in counted.items() if number > 0}


def _of_event(layer: str, event: Mapping[str, Any]) -> Iterator[DriftRow]:
    data = event.get("event_data", {})
    result, kind = data.get("res") or {}, event["event"]
    row = DriftRow(layer=layer, host=str(data.get("host", "")), what=str(data.get("task", "")), remedy=run_layer(layer))
    if data.get("resolved_action") == _SET_ASIDE:
        return
    for aside in result.get("aside") or ():
        yield replace(row, host=aside["host"], what=aside["reason"], remedy=aside["remedy"], unknown=True)
    if kind == "runner_on_ok" and result.get("changed"):
        if result.get("not_known"):
            yield replace(row, what=result["msg"], unknown=True)
        else:
            yield from (replace(row, what=text) for text in _texts(result) or [_said(row, result)])
    elif kind == "runner_on_unreachable" or (kind == "runner_on_failed" and not data.get("ignore_errors")):
        if result.get("changed"):  # it would be refused
            yield from (replace(row, what=text) for text in _texts(result))
        yield replace(row, what=_said(row, result), remedy="", unknown=True)


def _texts(result: Mapping[str, Any]) -> list[str]:
    """Return what a result says to have changed, one line each."""
    diff = result.get("diff")
    if isinstance(diff, Mapping):
        lines = [line[2:] for line in str(diff.get("prepared", "")).splitlines() if line.startswith(_MARKS)]
        if found := [*lines, *_records(result, lines)]:
            return found
    told = [str(line) for key in _TEXTS if isinstance(result.get(key), list) for line in result[key]]
    files = [one for one in diff if "after_header" in one] if isinstance(diff, list) else []
    return told or [str(one["after_header"] or one.get("before_header")) for one in files]


def _records(result: Mapping[str, Any], lines: Sequence[str]) -> Iterator[str]:
    """Yield releases that would be upgraded though no line names an object: somebody else wrote Helm's record."""
    for one in result.get("releases") or ():
        name = f"{one['name']}: " if isinstance(one, Mapping) and one.get("changed") else ""
        if name and not any(line.startswith(name) for line in lines):
            yield name + _RECORD


def _said(row: DriftRow, result: Mapping[str, Any]) -> str:
    """Return why a task failed: of a loop, the first item that did."""
    items = [one for one in result.get("results") or () if one.get("unreachable") or one.get("failed")]
    return str((items or [result])[0].get("msg") or result.get("msg") or row.what)
