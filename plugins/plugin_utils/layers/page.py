"""Tables in the documentation that are made from records: layers, supported systems, ports, checks of preflight.

Run as a module (``python -m <this module>``) it writes them; a test holds that what is committed is fresh.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from ...module_utils._preflight.checks import CHECKS
from ..paths import COLLECTION
from . import ports, systems
from .layers import LAYERS

PAGE, HOSTS_PAGE = "docs/architecture.md", "docs/bring-your-own-hosts.md"
_OURS = "groundup.cloud."


def table(root: Path) -> str:
    """Return the table of layers, Markdown."""
    modules = {path.stem for path in (root / "plugins/modules").glob("*.py")}
    lines = ["| layer | starts after | runs on | roles | modules | library | owns |", "|---|---|---|---|---|---|---|"]
    for name, layer in LAYERS.items():
        roles, used = ([], []) if layer.unsupported else _called(root, root / "playbooks" / f"{name}.yml")
        owns = f"{layer.owns}{' (not in this version)' if layer.unsupported else ''}"
        cells = (
            name, ", ".join(layer.needs) or "-", f"`{layer.group}`", _code(roles),
            _code([one for one in used if one in modules]), layer.library, owns,
        )  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def page(root: Path) -> str:
    """Return the page of the layers with a fresh table."""
    return with_table((root / PAGE).read_text(encoding="utf-8"), "layers", table(root))


def hosts_page(root: Path) -> str:
    """Return the page about existing hosts with fresh tables."""
    text = (root / HOSTS_PAGE).read_text(encoding="utf-8")
    checks = ["| check | holds a host to |", "|---|---|", *(f"| {name} | {one.says} |" for name, one in CHECKS.items())]
    for name, lines in (("systems", systems.table()), ("checks", checks), ("ports", ports.table())):
        text = with_table(text, name, "".join(f"{line}\n" for line in lines))
    return text


def with_table(text: str, name: str, fresh: str) -> str:
    """Return ``text`` with ``fresh`` between its comments ``<!-- name -->`` and ``<!-- /name -->``."""
    start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    return text.partition(start)[0] + start + fresh + end + text.partition(end)[2]


def _called(root: Path, path: Path) -> tuple[list[str], list[str]]:
    """Return the roles a playbook imports, itself or through another, and the modules it and those roles call."""
    roles: dict[str, None] = {}
    modules: dict[str, None] = {}
    for call, name in _calls(yaml.safe_load(path.read_text(encoding="utf-8"))):
        if call == "ansible.builtin.import_playbook":
            more = _called(root, root / "playbooks" / f"{name}.yml")
            roles |= dict.fromkeys(more[0])
            modules |= dict.fromkeys(more[1])
        elif call == "ansible.builtin.import_role":
            roles[name] = None
            for tasks in sorted((root / "roles" / name / "tasks").glob("*.yml")):
                modules |= {one: None for one, _ in _calls(yaml.safe_load(tasks.read_text(encoding="utf-8")))}
        else:
            modules[call] = None
    return list(roles), list(modules)


def _calls(tasks: Any) -> list[tuple[str, str]]:
    """Return what plays or tasks call, each with the name of the playbook or role it imports."""
    found = []
    for item in tasks or ():
        for key, value in item.items():
            if key in ("tasks", "pre_tasks", "post_tasks", "block", "rescue", "always"):
                found += _calls(value)
            elif key.startswith(("ansible.builtin.import_", _OURS)):
                named = value.get("name", "") if isinstance(value, dict) else value
                found.append((key.removeprefix(_OURS), str(named).removeprefix(_OURS)))
    return found


def _code(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names)) or "-"


if __name__ == "__main__":
    for path, made in ((PAGE, page), (HOSTS_PAGE, hosts_page)):
        (COLLECTION / path).write_text(made(COLLECTION), encoding="utf-8")
