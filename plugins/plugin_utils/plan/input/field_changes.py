"""Fields of the site file that a version renamed, removed, or gave another default: what a file of before needs.

One record a change. The message for an unknown key and the page docs/product-upgrade.md read them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteFieldChange:
    key: str  # path in the site file; `*` stands for a name
    since: str  # version of the collection
    what: str  # of a field that is gone, why; of one that stayed, what is else
    write: str  # YAML that keeps what was; "" where the field is left out
    gone: bool = False
    now: str = ""  # of a field that was renamed: its path

    @property
    def happened(self) -> str:
        """Return what became of the field."""
        return f"renamed to {self.now}" if self.now else "removed" if self.gone else "changed"


FIELD_CHANGES = (
    SiteFieldChange(
        key="machines.*.bmc.verify_ca", since="0.1.0", gone=True, what="nothing read it", write=""
    ),
    SiteFieldChange(
        key="supply.files_url", since="0.1.0", what="a site with a seed refuses http: the seed speaks TLS",
        write="supply: {files_url: 'https://registry.lab.test:8080'}",
    ),
    SiteFieldChange(
        key="ovn.tunnel_ids", since="0.2.0",
        what="the default is 1-65536, it was 1-16777215: Neutron's database has a row for each",
        write="ovn: {tunnel_ids: 1-16777215}",
    ),
    SiteFieldChange(
        key="kubernetes.cni", since="0.2.0", what="the default of profile region is flannel, it was cilium",
        write="kubernetes: {cni: cilium}",
    ),
    SiteFieldChange(
        key="hosts.updates", since="0.2.0",
        what="new; hosts that install from their own sources take Debian's security updates, except in profile lab: "
        "nothing but runs changed packages",
        write="hosts: {updates: site}",
    ),
    SiteFieldChange(
        key="identity.token_life", since="0.2.0", what="new; a token is valid for 3600 seconds, it was for 43200",
        write="identity: {token_life: 43200}",
    ),
    SiteFieldChange(
        key="openstack.image_sources", since="0.2.0",
        what="new; Glance fetches images from hosts of this list alone, it did from any URL",
        write="openstack: {image_sources: [images.example.org]}",
    ),
    SiteFieldChange(
        key="openstack.quotas", since="0.2.0",
        what="new; quotas in profile region are larger than OpenStack's own, which a project had",
        write="openstack: {quotas: {instances: 10, cores: 20, ram_gb: 50}}",
    ),
)  # fmt: skip


def remedy(key: str, changes: tuple[SiteFieldChange, ...] = FIELD_CHANGES) -> str | None:
    """Return what to do about the unknown ``key``, None when no version had it."""
    for one in changes:
        if one.gone and fnmatchcase(key, one.key):
            instead = f"write {one.write}" if one.write else "leave it out"
            return f"it was {one.happened} in {one.since} ({one.what}): {instead}"
    return None
