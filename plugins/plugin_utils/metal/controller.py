"""What management controllers say of their machines, and whether that is the machine that was seen."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import BoundedSemaphore
from typing import Any

from ...module_utils._base.identifiers import is_filler, mac, scope, serial_key
from ...module_utils._base.text import few, printable
from ..errors import GroundupError
from ..plan.types import HostPlan
from .api import Ironic
from .sighting import Sighting

AGE = 300.0  # seconds for which a report counts: one order to a machine follows another
_AT_ONCE = BoundedSemaphore(8)  # the other threads of groundup-contact are for machines that call home


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller:
    """A machine's serial numbers and MAC addresses, as its management controller reports them; empty: it is silent."""

    serial: str = ""
    sku: str = ""  # where some vendors have the number on the label
    macs: frozenset[str] = frozenset()
    system: str = ""  # path of the machine in Redfish, where the controller has several
    several: tuple[str, ...] = ()  # paths of those that may be the machine, when nobody can tell which
    shared: bool = False  # another controller says the same: two names lead to one, or two machines are confused

    @property
    def serials(self) -> dict[str, str]:
        """The serial numbers that identify a machine, by their form for comparison."""
        return {serial_key(word): word for word in (self.serial, self.sku) if word and not is_filler(word)}

    def has_serial(self, one: Sighting) -> bool | None:
        """Return whether the serial number of ``one`` is the controller's machine's, None when unknown.

        A SKU never says no: most vendors have the model there.
        """
        if not one.serial:
            return None
        return True if serial_key(one.serial) in self.serials else None if is_filler(self.serial) else False

    def has_mac(self, one: Sighting) -> bool | None:
        """Return whether a port of ``one`` is the controller's machine's, None when unknown."""
        told = self.macs - {nic.mac for nic in one.odd}
        return bool(told & one.macs) if told and one.macs else None

    def has(self, one: Sighting) -> bool | None:
        """Return whether ``one`` is the controller's machine; None: unknown, or serial and MAC disagree."""
        said = {self.has_serial(one), self.has_mac(one)} - {None}
        return False if self.shared else said.pop() if len(said) == 1 else None

    def has_some(self, one: Sighting) -> bool:
        """Return whether the serial number or a port of ``one`` is the controller's machine's."""
        return bool(self.has_serial(one) or self.has_mac(one))

    @property
    def silent(self) -> bool:
        """Whether nothing is known from the controller that identifies a machine."""
        return not (self.serials or self.macs)

    def __str__(self) -> str:
        words = [f"{name} {word}" for name, word in (("serial", self.serial), ("SKU", self.sku)) if word]
        return printable(", ".join([*words, *([f"ports {few(sorted(self.macs), most=3)}"] if self.macs else [])]))[:200]


def ask(ironic: Ironic, host: HostPlan, password: str) -> Controller:
    """Return what the controller of ``host`` says of its machine; empty where it does not answer."""
    return asked(ironic, host.bmc or {}, password, serial=host.serial or "")


def asked(ironic: Ironic, bmc: Mapping[str, Any], password: str, *, serial: str = "") -> Controller:
    """Return what a controller says of its machine; ``serial``: the one that it is expected to have."""
    more = {"system": bmc.get("system"), "serial": serial}
    try:
        with _AT_ONCE:
            told = ironic.controller(
                address=str(bmc["address"]),
                user=str(bmc["user"]),
                password=password,
                **{name: str(value) for name, value in more.items() if value},
            )
        return parse(told)
    except (GroundupError, KeyError, TypeError):
        return Controller()


class Recent:
    """A controller's report, asked for again once it is old."""

    def __init__(self, ask_: Callable[[], Controller]) -> None:
        self._ask, self._asked, self._found = ask_, float("-inf"), Controller()

    def __call__(self) -> Controller:
        if time.monotonic() - self._asked > AGE:
            self._found, self._asked = self._ask(), time.monotonic()
        return self._found


def parse(told: Mapping[str, Any]) -> Controller:
    """Return the report of `groundup-contact`. Raises KeyError, TypeError when it is none."""
    macs = set()
    for said in told["macs"]:
        with suppress(ValueError):
            macs.add(mac(said))
    return Controller(
        serial=str(told["serial"]).strip(),
        sku=str(told.get("sku") or "").strip(),
        macs=frozenset(one for one in macs if scope(one) not in ("nobody", "group")),
        system=str(told.get("system") or ""),
        several=tuple(map(str, told.get("several") or ())),
    )


def distinct(controllers: Mapping[str, Controller]) -> dict[str, Controller]:
    """Return ``controllers`` without serial numbers and MAC addresses that several of them report."""
    macs = Counter(one for found in controllers.values() for one in found.macs)
    serials = Counter(word for found in controllers.values() for word in found.serials)

    def own(found: Controller) -> Controller:
        kept = replace(
            found,
            serial=found.serial if serials[serial_key(found.serial)] == 1 else "",
            sku=found.sku if serials[serial_key(found.sku)] == 1 else "",
            macs=frozenset(one for one in found.macs if macs[one] == 1),
        )
        return replace(kept, shared=bool(found.macs and not kept.macs and not kept.serials))

    return {name: own(found) for name, found in controllers.items()}
