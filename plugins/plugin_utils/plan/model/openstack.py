"""OpenStack in the site file."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, create_model

from ...services import RECORDS, of_kind
from .base import Model, Name, Plain, Text, Version
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


class Override(Model):
    """Chart values of this site."""

    why: Text | None = Field(None, description="Why the chart's own value does not suffice. Without it the plan warns.")
    values: Plain = Field(description="Chart values, merged over the plan's.")


def _charts(value: str) -> str:
    """Return ``value``. Raises ValueError for a word: a directory has a slash, and a mistyped word would be one."""
    if value == "builtin" or "/" in value:
        return value
    raise ValueError(f"is no source of charts: write builtin, a directory with a slash (./{value}), or a URL")


class OpenStack(Model):
    """The OpenStack cloud."""

    release: Version = Field(
        "2026.1", description="OpenStack release; chart versions and images follow from the version matrix."
    )
    region: Text = Field("RegionOne", description="Name of the region in the catalog.")
    namespace: Name = Field("openstack", description="Kubernetes namespace.")
    services: list[Name] = Field(
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
    overrides: dict[Name, Override] = Field(
        default_factory=dict, description="Chart values of this site, by release, each with its reason."
    )
