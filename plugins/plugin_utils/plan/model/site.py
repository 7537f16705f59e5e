"""The whole site file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, PrivateAttr

from .backups import Backups
from .base import Domain, Model, Name
from .cloud import CloudResources
from .identity import Identity
from .machines import Hardware, MachineGroup
from .monitoring import Monitoring
from .networks import Network, Ovn, Rack
from .openstack import OpenStack
from .platform import Access, Cluster, Edge, Hosts, Seed, Supply
from .proxy import Proxy
from .storage import Storage

ProfileName = Literal["lab", "edge", "rack", "region"]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFile:
    """A file that the site file names: its text, or why it cannot be read."""

    text: str = ""
    fault: str = ""


class Site(Model):
    """One site file: everything an operator writes about one cloud."""

    plugin: Literal["groundup.cloud.site"] = Field(description="Tells Ansible which inventory plugin reads this file.")
    site: Name = Field(description="Name of the site; also of its state directory on the control node.")
    domain: Domain = Field(description="DNS domain of the hosts and of the public names (identity.<domain>, ...).")
    profile: ProfileName = Field(description="Expected hardware and quorums; decides the defaults.")
    networks: dict[Name, Network] = Field(default_factory=dict, description="Networks by name. Default: the profile's.")
    racks: dict[Name, Rack] = Field(
        default_factory=dict, description="Racks by name. Default: those that machines name."
    )
    hardware: dict[Name, Hardware] = Field(default_factory=dict, description="Further hardware profiles, by name.")
    machines: Annotated[dict[Name, MachineGroup], Field(min_length=1)] = Field(
        description="Groups of machines by name."
    )
    access: Access = Field(default_factory=Access, description="Who may log in, and how.")
    hosts: Hosts = Field(default_factory=Hosts, description="Settings of every host.")
    seed: Seed = Field(default_factory=Seed, description="The seed (deployment host).")
    edge: Edge = Field(default_factory=Edge, description="The virtual IP.")
    supply: Supply = Field(default_factory=Supply, description="Where artifacts come from.")
    proxy: Proxy | None = Field(
        None, description="The proxy to the internet. Default: that of the machine's environment."
    )
    kubernetes: Cluster = Field(default_factory=Cluster, description="The infrastructure's own cluster.")
    storage: Storage = Field(default_factory=Storage, description="Storage of the cloud and of its control plane.")
    ovn: Ovn = Field(default_factory=Ovn, description="The network of the tenants.")
    openstack: OpenStack = Field(default_factory=OpenStack, description="The cloud.")
    identity: Identity = Field(default_factory=Identity, description="Users of the cloud that are not its own.")
    cloud: CloudResources = Field(
        default_factory=CloudResources, description="What is in the cloud: projects, networks, flavors, ..."
    )
    backups: Backups = Field(default_factory=Backups, description="Where sets of backups are kept.")
    monitoring: Monitoring = Field(default_factory=Monitoring, description="Metrics and alerts.")

    _file: str = PrivateAttr("<site>")
    _content: bytes = PrivateAttr(b"")
    _files: Mapping[str, NamedFile] = PrivateAttr(default_factory=dict)
    _now: datetime | None = PrivateAttr(None)

    @property
    def file(self) -> str:
        """Return the path this site was read from, ``<site>`` when it was made in memory."""
        return self._file

    @property
    def content(self) -> bytes:
        """Return the text this site was read from, empty when it was made in memory. Errors look up lines in it."""
        return self._content

    @property
    def files(self) -> Mapping[str, NamedFile]:
        """Return the files that the site file names, by name."""
        return self._files

    @property
    def named_files(self) -> tuple[str, ...]:
        """Return the names of files that belong to the site file, each once."""
        certificate = [self.edge.certificate] if self.edge.certificate else []
        return tuple(dict.fromkeys((*self.hosts.trusted_cas, *certificate)))

    @property
    def now(self) -> datetime | None:
        """Return when the files were read: certificates are valid then. None: their dates are not looked at."""
        return self._now
