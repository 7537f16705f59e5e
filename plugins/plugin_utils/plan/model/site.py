"""The whole site file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PrivateAttr

from .base import Domain, Model, Name
from .machines import Hardware, MachineGroup
from .networks import Network, Rack
from .openstack import OpenStack
from .platform import Access, Cluster, Edge, Hosts, Ovn, Seed, Supply
from .storage import Storage

ProfileName = Literal["lab", "edge", "region"]


class Site(Model):
    """One site file: everything an operator says about one cloud."""

    plugin: Literal["groundup.cloud.site"] = Field(description="Tells Ansible which inventory plugin reads this file.")
    site: Name = Field(description="Name of the site; its state on the controller is kept under it.")
    domain: Domain = Field(description="DNS domain of the hosts and of the public names (identity.<domain>, ...).")
    profile: ProfileName = Field(
        description="What hardware and quorums are expected, and what follows where nothing is written."
    )
    networks: dict[Name, Network] = Field(
        default_factory=dict, description="Planes by name. Default: those of the profile."
    )
    racks: dict[Name, Rack] = Field(
        default_factory=dict, description="Racks by name. Default: those the machines name."
    )
    hardware: dict[Name, Hardware] = Field(
        default_factory=dict, description="Hardware profiles of this site's own, by name."
    )
    machines: Annotated[dict[Name, MachineGroup], Field(min_length=1)] = Field(
        description="Groups of machines by name."
    )
    access: Access = Field(default_factory=Access, description="Who may log in, and how.")
    hosts: Hosts = Field(default_factory=Hosts, description="What every host gets.")
    seed: Seed = Field(default_factory=Seed, description="The seed.")
    edge: Edge = Field(default_factory=Edge, description="The virtual IP.")
    supply: Supply = Field(default_factory=Supply, description="Where artifacts come from.")
    kubernetes: Cluster = Field(default_factory=Cluster, description="The infrastructure's own cluster.")
    storage: Storage = Field(default_factory=Storage, description="Storage of the cloud and of its control plane.")
    ovn: Ovn = Field(default_factory=Ovn, description="The network of the tenants.")
    openstack: OpenStack = Field(default_factory=OpenStack, description="The cloud.")

    _file: str = PrivateAttr("<site>")
    _content: bytes = PrivateAttr(b"")

    @property
    def file(self) -> str:
        """Return the path this site was read from, ``<site>`` when it was made in memory."""
        return self._file

    @property
    def content(self) -> bytes:
        """Return the text this site was read from, nothing when it was made in memory: errors find their line in it."""
        return self._content
