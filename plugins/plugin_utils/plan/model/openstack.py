"""OpenStack in the site file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, create_model
from pydantic.config import JsonDict

from ...services import RECORDS, of_kind
from ...services.quotas import QUOTAS, Quota
from ..types import PodSecurity
from .base import Address, Domain, Model, Name, Plain, Text, Version
from .platform import Reference

Replicas = create_model(  # type: ignore[call-overload]  # fields of the records, unknown to mypy
    "Replicas",
    __base__=Model,
    __doc__="Sizes of the services that keep a quorum, and of those that do not.",
    **{
        record.name: (
            Annotated[int, Field(ge=1, le=9)] | None,
            Field(None, description=f"{record.members}. Default: one a control host, at most 3."),
        )
        for record in RECORDS.values()
        if record.members
    },
    **{
        record.name: (
            Annotated[int, Field(ge=1, le=32)] | None,
            Field(None, description=f"Pods of {record.label}'s API. Default: openstack.replicas.api."),
        )
        for record in RECORDS.values()
        if record.api and not record.api.role and not record.members
    },
    api=(
        Annotated[int, Field(ge=1, le=32)] | None,
        Field(None, description="Pods of each API. Default: one a control host, at most 3."),
    ),
)

Workers = create_model(  # type: ignore[call-overload]  # fields of the records, unknown to mypy
    "Workers",
    __base__=Model,
    __doc__="Processes of a pod, where a service has several.",
    **{
        record.name: (
            Annotated[int, Field(ge=1, le=64)] | None,
            Field(None, description=f"Processes of each of {record.label}'s pods. Default: by hardware."),
        )
        for record in RECORDS.values()
        if record.workers
    },
)


def _more(one: Quota) -> str:
    return f"; profiles rack and region: {one.more[0]} and {one.more[1]}" if one.more else ""


# What the plan says better, with the word that was meant; editors offer and check it as one types.
_Service = Annotated[Name, Field(json_schema_extra={"enum": [record.name for record in of_kind("service")]})]
_RELEASES: JsonDict = {"propertyNames": {"enum": list(RECORDS)}}


class Override(Model):
    """Chart values of this site."""

    why: Text | None = Field(None, description="Why the chart's own value does not suffice. Without it the plan warns.")
    values: Plain = Field(description="Chart values, merged over the plan's.")


def _charts(value: str) -> str:
    """Return ``value``. Raises ValueError for a word: a directory has a slash, and a mistyped word would be one."""
    if value == "builtin" or "/" in value:
        return value
    raise ValueError(f"is no source of charts: write builtin, a directory with a slash (./{value}), or a URL")


ReleaseName = Annotated[Name, Field(max_length=53)]  # Helm's own limit


class ExtraRelease(Model):
    """A Helm release of the site's own, beside ours and in a namespace of its own."""

    chart: Reference = Field(
        description="Directory or .tgz of the chart, relative to the site file; or oci://HOST/PATH@sha256:DIGEST in a "
        "registry that the control node reaches."
    )
    version: Version = Field(description="Version of the chart. Another one in its Chart.yaml is an error.")
    namespace: Name | None = Field(
        None, description="Kubernetes namespace, none of ours; extra releases may share one. Default: the name."
    )
    values: Plain | Reference = Field(
        default_factory=dict,
        description='Chart values, or a YAML file of them, relative to the site file. {"$secret": "OWNER/NAME"} is a '
        'secret of the store, {"$image": "NAME"} one of `images`.',
    )
    needs: list[Name] = Field(default_factory=list, description="Releases that must work first: ours, or extra ones.")
    images: dict[Name, Reference] = Field(
        default_factory=dict,
        description="Images of its pods, by a name for `values`: HOST/PATH:TAG@sha256:DIGEST. The seed serves copies.",
    )
    ports: list[Annotated[int, Field(ge=1, le=65535)]] = Field(
        default_factory=list,
        description="TCP ports of its pods that anybody may reach. Others only its namespace may, and namespaces of "
        "releases that need it.",
    )
    pod_security: PodSecurity = Field(
        "baseline", description="What its pods may do, by the Pod Security Standards: the level its namespace enforces."
    )
    timeout: Annotated[int, Field(ge=10, le=86400)] = Field(
        1200, description="Seconds until its pods must be ready, and of each of its hooks."
    )


Quotas = create_model(  # type: ignore[call-overload]  # fields of the table, unknown to mypy
    "Quotas",
    __base__=Model,
    __doc__="Limits of a project that nobody gave others. -1: none.",
    **{
        name: (
            Annotated[int, Field(ge=-1, le=10**9)] | None,
            Field(None, description=f"{one.what}. Default: {one.default}{_more(one)}."),
        )
        for name, one in QUOTAS.items()
    },
)


class Dns(Model):
    """DNS names of instances, and the name servers of users' zones."""

    domain: Domain | None = Field(
        None,
        description="DNS domain of instances: DHCP and metadata tell it, OVN answers for names in it. With designate, "
        "ports and floating IPs get records in zones of their project, too. Default: none, and ports have no names.",
    )
    name_servers: dict[Domain, Address] = Field(
        default_factory=dict,
        description="designate: the site's own name servers, host name to address. They serve users' zones, which they "
        "find in the catalog zone catalog.invalid (RFC 9432). Default: none, and zones end in ERROR.",
    )


class HypervisorFailure(Model):
    """What a timer on the control node does about a hypervisor that died."""

    action: Literal["tell", "evacuate"] = Field(
        description="tell: report its instances by project, with whom to tell. evacuate: also have those come back "
        "elsewhere whose disks outlive it, when nothing speaks against it; needs storage.backend: native."
    )
    after: Annotated[int, Field(ge=120, le=86400)] = Field(
        300, description="Seconds of silence until it is evacuated: a reboot is shorter."
    )
    instances: Literal["stay", "start"] = Field(
        "stay", description="Instances whose QEMU ended by itself on a hypervisor that is well: stay off, as Nova "
        "leaves them, or start, thrice an hour at most.",
    )  # fmt: skip


class OpenStack(Model):
    """The OpenStack cloud."""

    release: Version = Field(
        "2026.1", description="OpenStack release; chart versions and images follow from the version matrix."
    )
    region: Annotated[str, Field(max_length=64, pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$")] = Field(
        "RegionOne", description="Name of the region in the catalog."
    )
    namespace: Name = Field("openstack", description="Kubernetes namespace.")
    services: list[_Service] = Field(
        default_factory=lambda: ["keystone"],
        description=f"Services; {', '.join(record.label for record in of_kind('infrastructure'))} follow.",
    )
    charts: Annotated[Reference, AfterValidator(_charts)] = Field(
        "builtin", description="builtin, a directory, a Helm repository URL or an oci:// reference."
    )
    chart_versions: dict[Name, Version] = Field(
        default_factory=dict, description="Chart versions that replace those of the version matrix."
    )
    replicas: Replicas = Field(default_factory=Replicas, description="Sizes of services.")
    workers: Workers = Field(default_factory=Workers, description="Processes of services.")
    quotas: Quotas = Field(default_factory=Quotas, description="Default quotas of projects.")
    image_sources: list[Domain] = Field(
        default_factory=list,
        description="Names of hosts that Glance fetches images from when a user names their URL (web-download). "
        "Default: none, and users upload.",
    )
    image_signatures: Literal["optional", "required"] = Field(
        "optional",
        description="optional: with barbican, Glance holds an upload to the signature that its image has. required: "
        "hypervisors start an image on their own disks by a right signature alone, and none without.",
    )
    dns: Dns = Field(default_factory=Dns, description="DNS names of instances, and name servers of users' zones.")
    hypervisor_failure: HypervisorFailure | None = Field(
        None,
        description="What happens when a hypervisor dies (playbook groundup.cloud.hypervisor_failure, by a timer on "
        "the control node). Default: nothing by itself.",
    )
    overrides: dict[Name, Override] = Field(
        default_factory=dict,
        json_schema_extra=_RELEASES,
        description="Chart values of this site, by release, each with its reason.",
    )
    extra_releases: dict[ReleaseName, ExtraRelease] = Field(
        default_factory=dict, description="Helm releases of the site's own, by name, rolled out with ours."
    )
