"""Write what this host's OVN, Open vSwitch, libvirt, Ceph, kubelet, units, disks and pods say into one text file.

A part that is not there tells nothing, one that is silent tells so. Only a run of which all parts are done says when.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from . import ceph, daemons, filesystems, libvirt, node, ovn, services
from .samples import Sample, place

LAST_RUN = "groundup_host_metrics_last_run_timestamp_seconds"
PARTS: tuple[Callable[[], Iterable[Sample]], ...] = (
    ovn.central, ovn.chassis, libvirt.domains, ceph.daemons, node.health, daemons.enabled,
    filesystems.of_disks,
)  # fmt: skip


def main() -> None:
    """Write the file that is named in the command line; behind it, the namespace whose pods are asked, if any."""
    write(Path(sys.argv[1]), (*PARTS, *(partial(services.members, one) for one in sys.argv[2:])))


def write(path: Path, parts: Iterable[Callable[[], Iterable[Sample]]] = PARTS) -> None:
    """Write what ``parts`` tell; one that fails is in the journal, and the others tell."""
    samples: list[Sample] = []
    failed = False
    for part in parts:
        try:
            samples += list(part())
        except Exception:  # noqa: BLE001  # what nobody foresaw must not hide the rest
            import traceback  # of a fault alone: nothing else takes as long to import

            failed = True
            print(*(f"<3>{line}" for line in traceback.format_exc().splitlines()), sep="\n", file=sys.stderr)
    if not failed:
        samples.append(Sample(LAST_RUN, time.time()))
    place(path, samples)
