"""Install automatic certificate renewal: this package's code as one file, and a systemd timer that starts it."""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import io
import sys
import zipfile
from importlib.util import resolve_name
from ipaddress import ip_address
from pathlib import Path
from types import ModuleType

from .._base.changes import Changes
from .._base.files import write_file
from .._host.units import MARKS, Unit
from . import unattended
from .spec import Node, Paths

PROGRAM = "/usr/local/lib/groundup/kubeadm.pyz"
NAME = "groundup-certificates"
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
SERVICE = f"""\
# Written by groundup.cloud.
[Unit]
Description=Renewal of control plane certificates that end within 30 days
After=kubelet.service
ConditionPathExists=/etc/kubernetes/admin.conf

[Service]
Type=oneshot
ExecStart=/usr/bin/python3 {PROGRAM}
TimeoutStartSec=30min
"""


def schedule(address: str) -> str:
    """Return the timer unit of the host at ``address``: weekly, neighbouring addresses on different days."""
    day = DAYS[int(ip_address(address)) % len(DAYS)]
    return f"""\
# Written by groundup.cloud.
[Unit]
Description=Weekly renewal of control plane certificates

[Timer]
OnCalendar={day} *-*-* 02:00:00
RandomizedDelaySec=3h
Persistent=true

[Install]
WantedBy=timers.target
"""


def install(node: Node, paths: Paths, changes: Changes) -> None:
    """Install program and timer on a control host. Raises GroundupError, OSError."""
    units, marks = paths.at("/etc/systemd/system"), paths.at(str(MARKS))
    # Never restart it: that would interrupt a renewal, and a new one would wait for this run's lock.
    service = Unit(changes, f"{NAME}.service", on_change=None, marks=marks)
    timer = Unit(changes, f"{NAME}.timer", marks=marks)
    service.place(units / f"{NAME}.service", SERVICE)
    timer.place(units / f"{NAME}.timer", schedule(node.address))
    target, data = paths.at(PROGRAM), program()
    before = target.read_bytes() if target.exists() else b""
    if before != data:
        shown = (f"sha256 {hashlib.sha256(found).hexdigest()}\n" if found else "" for found in (before, data))
        if changes.add(f"write {PROGRAM}", name=PROGRAM, **dict(zip(("before", "after"), shown, strict=True))):
            write_file(target, data, mode=0o755)
    service.refreshed()
    timer.running()


def program() -> bytes:
    """Return `unattended` and its imports as one zip program, reproducible for the same code."""
    files = {"__main__.py": "from groundup._kubeadm.unattended import main\n\nmain()\n"}
    for name, source in _sources(unattended).items():
        path = Path("groundup", *name.split("."))
        files |= {str(parent / "__init__.py"): "" for parent in path.parents if parent != Path()}
        files[f"{path}.py"] = source
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for file, text in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(file), text)  # its date is fixed: 1980
    return stream.getvalue()


def _sources(module: ModuleType) -> dict[str, str]:
    """Return the sources of ``module`` and of all it imports from this library, by name below the library."""
    root = resolve_name("..", __package__ or "")
    found: dict[str, str] = {}
    todo = [module.__name__]
    while todo:
        name = todo.pop()
        short = name.removeprefix(f"{root}.")
        if short in found or name == short:
            continue
        imported = importlib.import_module(name)
        if hasattr(imported, "__path__"):
            continue  # a package: its modules are imported by name
        # getsource also reads from the archive in which Ansible ships modules to a host.
        found[short] = source = inspect.getsource(imported)
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = resolve_name("." * node.level + (node.module or ""), name.rpartition(".")[0])
                todo += [base, *(each for alias in node.names if (each := f"{base}.{alias.name}") in sys.modules)]
    return found
