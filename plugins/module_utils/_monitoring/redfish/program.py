"""Write what the management controllers of the site say of their machines' parts into one text file.

One that does not answer, or not as it should, tells so; why is in the journal.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from ..host_metrics.samples import Sample, place
from .controller import RedfishController
from .parts import Get, parts

LOOKED = "groundup_redfish_looked_timestamp_seconds"
_AT_ONCE = 32  # controllers: slow ones, mostly


def main() -> None:
    """Write the file that is named first, by the machines of the file that is named second."""
    known = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    ask = partial(asked, passwords=known["passwords"])
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        found = [sample for told in pool.map(ask, known["machines"].items()) for sample in told]
    place(Path(sys.argv[1]), [*found, Sample(LOOKED, time.time())])


def asked(named: tuple[str, dict[str, Any]], *, passwords: dict[str, str]) -> list[Sample]:
    """Return what one machine's controller says."""
    machine, one = named
    try:
        controller = RedfishController(address=one["address"], user=one["user"], password=passwords[one["credentials"]])
        return [Sample("redfish_up", 1, {"machine": machine}), *samples(machine, controller.get)]
    except Exception as error:  # noqa: BLE001  # whatever one says must hide no other
        print(f"<4>{machine}: {one['address']}: {type(error).__name__}: {error}", file=sys.stderr)
        return [Sample("redfish_up", 0, {"machine": machine})]


def samples(machine: str, get: Get) -> Iterator[Sample]:
    """Yield what a machine's controller says, by what it answers to ``get``."""
    for one in parts(get):
        labels = {"machine": machine, "kind": one.kind, "part": one.name}
        yield Sample("redfish_part_ok", one.ok, labels)
        if one.celsius is not None:
            yield Sample("redfish_temperature_celsius", one.celsius, labels)
            if one.limit is not None:
                yield Sample("redfish_temperature_limit_celsius", one.limit, labels)
