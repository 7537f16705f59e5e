"""Check that libvirt offers the CPU and machine type of the hardware profile."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

from .._base.errors import GroundupError
from .._base.run import attempt
from .._base.text import few

VIRSH = Path("/usr/bin/virsh")
_SHOWN = 12  # models, or missing features


def refuse(compute: Mapping[str, Any], *, hardware: str, host: str) -> bool:
    """Raise GroundupError when libvirt lacks them; return whether libvirt could be asked."""
    if not VIRSH.exists():
        return False
    words = ["--virttype", compute["virt_type"], "--machine", compute["machine_type"], "--arch", os.uname().machine]
    said = attempt(["virsh", "--connect", "qemu:///system", "domcapabilities", *words], timeout=60)
    if said.returncode and "machine" not in said.stderr:
        return False  # libvirt does not answer: reported by its own check
    if found := list(lacking(compute, said.stdout, fault=" ".join(said.stderr.split()))):
        raise GroundupError(
            "; ".join(found),
            where=f"{host}; site file key hardware.{hardware}.compute",
            why="libvirt would refuse every guest on it",
            remedy=f"write one that it has: virsh domcapabilities {' '.join(words)}",
        )
    return True


def lacking(compute: Mapping[str, Any], capabilities: str, *, fault: str = "") -> Iterator[str]:
    """Yield what libvirt lacks, with its field, by ``capabilities`` (XML) or, without them, by ``fault``."""
    if fault and not capabilities.strip():
        yield f"machine_type: {compute['machine_type']}, and libvirt says: {fault}"
        return
    root = Xml.fromstring(capabilities)  # noqa: S314  # of this host's own libvirt
    modes = {str(one.get("name")): one for one in root.iterfind("cpu/mode")}
    mode, wanted = modes.get(compute["cpu_mode"]), compute["cpu_model"]
    if mode is None or mode.get("supported") != "yes":
        yield f"cpu_mode: {compute['cpu_mode']}, and libvirt has none with virt_type {compute['virt_type']}"
    elif wanted:
        yield from _model(mode, wanted, real=compute["virt_type"] == "kvm")


def _model(mode: Xml.Element, wanted: str, *, real: bool) -> Iterator[str]:
    usable = {str(one.text): one.get("usable") for one in mode.iterfind("model")}
    if wanted not in usable:
        able = [name for name, word in usable.items() if word == "yes"]
        yield f"cpu_model: {wanted}, and libvirt knows no such model; usable here: {few(able, most=_SHOWN) or 'none'}"
    elif real and usable[wanted] == "no":  # plain QEMU emulation starts such guests, without the features
        features = [str(one.get("name")) for one in mode.iterfind(f"blockers[@model='{wanted}']/feature")]
        lacks = f": the processor lacks {few(features, most=_SHOWN)}" if features else ""
        yield f"cpu_model: {wanted}, and this machine cannot be one{lacks}"
