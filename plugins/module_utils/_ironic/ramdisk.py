"""The site's deploy ramdisk: the published one, with the site's CA and our collector prepended as an archive."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._base.changes import Changes
from .._base.files import write_file
from . import configuration as own

_AGENT = "opt/agent/lib/python3.13/site-packages"  # of the artifact deploy-ramdisk-13
_CONF = """\
[DEFAULT]
cafile = /etc/groundup/site-ca.crt
inspection_collectors = default,groundup-disks
"""
_ENTRY_POINTS = """\
[ironic_python_agent.inspector.collectors]
groundup-disks = groundup_agent:collect
"""
_METADATA = "Metadata-Version: 2.1\nName: groundup-agent\nVersion: 1\n"
STAMP = own.RAMDISK / "made-of"


def place(changes: Changes, wanted: Mapping[str, Any]) -> None:
    """Build the site's ramdisk, unless it is current. Raises OSError when the published one is missing."""
    source = Path(wanted["ramdisk"]) / "initramfs"
    laid_under = archive(entries(wanted))
    try:
        found = source.stat()
    except FileNotFoundError:
        if changes.check:
            changes.add(f"make {own.INITRAMFS}")
            return
        raise
    stamp = json.dumps([str(source), found.st_size, found.st_mtime_ns, hashlib.sha256(laid_under).hexdigest()])
    if own.INITRAMFS.exists() and STAMP.exists() and STAMP.read_text(encoding="utf-8") == stamp:
        return
    if changes.add(f"make {own.INITRAMFS}"):
        write_file(own.INITRAMFS, laid_under + source.read_bytes(), mode=0o644)
        write_file(STAMP, stamp.encode(), mode=0o644)


def entries(wanted: Mapping[str, Any]) -> dict[str, str]:
    """Return the files to prepend to the ramdisk, by path."""
    return {
        "etc/groundup/site-ca.crt": wanted["ca_certificate"],
        "etc/ironic-python-agent.d/site.conf": _CONF,
        f"{_AGENT}/groundup_agent.py": wanted["agent"],
        f"{_AGENT}/groundup_agent-1.dist-info/METADATA": _METADATA,
        f"{_AGENT}/groundup_agent-1.dist-info/entry_points.txt": _ENTRY_POINTS,
    }


def archive(entries: Mapping[str, str]) -> bytes:
    """Return a cpio archive (`newc`), directories before their files. The kernel unpacks it before the next one."""
    made: dict[str, str | None] = {}
    for path, content in entries.items():
        made.update({str(parent): None for parent in reversed(Path(path).parents) if str(parent) != "."})
        made[path] = content
    parts = [_entry(name, content, number) for number, (name, content) in enumerate(made.items(), start=1)]
    return _padded(b"".join([*parts, _entry("TRAILER!!!", "", 0)]), 512)


def _entry(name: str, content: str | None, number: int) -> bytes:
    mode, links = (0o040755, 2) if content is None else (0o100644, 1)
    data = (content or "").encode()
    fields = (number, mode, 0, 0, links, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
    return _padded(head, 4) + _padded(data, 4)


def _padded(data: bytes, size: int) -> bytes:
    return data + b"\0" * (-len(data) % size)
