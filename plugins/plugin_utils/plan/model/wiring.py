"""Cabling of a machine in the site file: bonds, bridges, and the link of each network."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from .base import InterfaceName, Model, Name


class Bond(Model):
    """Ports bonded into one link."""

    members: list[InterfaceName] = Field(min_length=1, description="Its ports, by name.")
    mode: Literal["802.3ad", "active-backup"] = Field(
        "802.3ad", description="802.3ad: LACP, which the switch must support; active-backup: one port at a time."
    )
    lacp_rate: Literal["slow", "fast"] | None = Field(
        None, description="802.3ad: interval of LACP packets, 30 s (slow) or 1 s (fast). Default: slow."
    )
    primary: InterfaceName | None = Field(
        None, description="active-backup: port used while it has a link. Default: any port that is up."
    )

    @model_validator(mode="after")
    def _options_of_the_mode(self) -> Bond:
        if self.mode == "802.3ad" and self.primary:
            raise ValueError("802.3ad has no primary: leave it out, or write mode: active-backup")
        if self.mode == "active-backup" and self.lacp_rate:
            raise ValueError("active-backup speaks no LACP: leave lacp_rate out, or write mode: 802.3ad")
        if self.primary and self.primary not in self.members:
            raise ValueError(f"primary {self.primary} is none of its members: write one of {', '.join(self.members)}")
        return self


class Bridge(Model):
    """A Linux bridge, for guests and containers outside the site's management."""

    members: list[InterfaceName] = Field(min_length=1, description="Its ports and bonds, by name.")


class Wiring(Model):
    """Cabling of machines."""

    bonds: dict[InterfaceName, Bond] = Field(default_factory=dict, description="Bonds by name.")
    bridges: dict[InterfaceName, Bridge] = Field(default_factory=dict, description="Bridges by name.")
    networks: dict[Name, InterfaceName] = Field(
        default_factory=dict,
        description="Port, bond or bridge of each network; a network with a `vlan` is tagged there. Default: a port of "
        "its own (`ports`), else, with a `vlan`, the link of the management network.",
    )


class VirtualFunctions(Model):
    """Virtual functions (SR-IOV) of one network card."""

    functions: Annotated[int, Field(ge=1, le=256)] = Field(
        description="Virtual functions made at each start of the host: one an instance's port."
    )
    network: Name = Field(description="Provider network that the card is on.")
