"""What a management controller says of its machine, against what a machine says of itself. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from ...module_utils._base.text import printable
from ..plan.types import HostPlan
from .sighting import Sighting

_TRUSTED = ("control", "seed")  # roles whose machines hold the keys of the site


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller:
    """A machine's serial numbers and MAC addresses, as its management controller reports them. Empty: it is silent."""

    serial: str = ""
    sku: str = ""  # Dell's firmware tells it to the system as the serial number
    macs: frozenset[str] = frozenset()

    def has(self, one: Sighting) -> bool | None:
        """Return whether ``one`` is the controller's machine; None: unknown, or serial and MAC disagree."""
        known = {word for word in (self.serial, self.sku) if word}
        mac = bool(self.macs & one.macs) if self.macs else None
        serial = one.serial in known if known and one.serial else None
        return None if {mac, serial} == {True, False} else serial if mac is None else mac

    @property
    def silent(self) -> bool:
        """Whether nothing is known from the controller."""
        return not (self.serial or self.sku or self.macs)

    def __str__(self) -> str:
        ports = ", ".join(sorted(self.macs)) or "unknown"
        return printable(f"serial {self.serial or self.sku or 'unknown'}, ports {ports}")[:200]


def doubt(host: HostPlan, one: Sighting, own: Controller) -> str:
    """Return why a person must approve ``one`` as ``host``, "" when nobody must.

    Whoever is on the network it boots from can claim a serial number or a MAC address: no claim is an approval.
    """
    if host.approve == "ask":
        return "approve: ask"
    if own.has(one):
        return ""
    if not own.silent:
        return f"its management controller reports {own}"
    if one.bmc:
        return "its management controller does not answer, and only the machine says that it is its own"
    trusted = next((role for role in _TRUSTED if role in host.roles), "")
    return f"its management controller does not answer, and its role is {trusted}" if trusted else ""
