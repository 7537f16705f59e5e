"""Python packages that the control node must have. Imports nothing that may be missing."""

from __future__ import annotations

import multiprocessing
import re
import socket
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

_FILES = Path(__file__).resolve().parents[2]
_LINE = re.compile(r"([\w.-]+)(?:\[[\w,-]+\])?([<>=!~].*)?")
_EXIT_CODE = 4  # as for an invalid site file


def check() -> None:
    """End the command with one line when this control node lacks a package, or has a version that is not supported.

    In a worker of Ansible's, the task fails with that line. The seed's copy of the collection has no list: its
    environment, which lacks clients of the cloud, came with it. A program that only uses a part of the library
    has what that part imports.
    """
    if "ansible" not in sys.modules and sys.argv[:1] != ["-m"]:  # "-m": python looks for the module it is to run
        return
    listed = _FILES / "requirements.in"
    if not listed.exists() or not (lacking := lacks(listed.read_text(encoding="utf-8"))):
        return
    install = f"{sys.executable} -m pip install -r {_FILES / 'requirements.txt'}"
    if sys.prefix == sys.base_prefix:
        install = f"run Ansible from a virtual environment ({_FILES / 'docs/install.md'}), and there: "
        install += f"pip install -r {_FILES / 'requirements.txt'}"
    text = f"groundup.cloud: this control node ({socket.gethostname()}) lacks {', '.join(lacking)}. Remedy: {install}"
    context = sys.modules.get("ansible.context")
    if multiprocessing.parent_process() or (context and not context.CLIARGS):
        raise ImportError(text)  # a worker, or a program of somebody else that uses Ansible as a library
    print(f"[ERROR]: {text}", file=sys.stderr)
    sys.exit(_EXIT_CODE)


def lacks(requirements: str) -> list[str]:
    """Return the packages of ``requirements`` that are missing or have another version, each with what is wrong."""
    found = []
    lines = (line.partition("#")[0].strip() for line in requirements.splitlines())
    for name, wanted in (_parts(line) for line in lines if line):
        try:
            package = distribution(name)
        except PackageNotFoundError:
            found.append(name)
            continue
        if wanted and not _fits(package.version, wanted):
            found.append(f"{name} {wanted} (it has {package.version})")
    return found


def _parts(line: str) -> tuple[str, str]:
    match = _LINE.fullmatch(line)
    if match is None:
        raise ValueError(f"requirements.in: {line}")
    return match[1], match[2] or ""


def _fits(version: str, wanted: str) -> bool:
    from packaging.specifiers import SpecifierSet  # late: it may be what is missing

    return SpecifierSet(wanted).contains(version, prereleases=True)
