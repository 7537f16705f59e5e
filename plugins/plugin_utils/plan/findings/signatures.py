"""Signatures of images: who checks them is there, and whatever starts without a check is named."""

from __future__ import annotations

from collections.abc import Iterator

from ..form import error, warning
from ..layout.context import PlanContext
from ..types import Finding

_KEY = "openstack.image_signatures"
_PROPERTIES = (
    "img_signature", "img_signature_hash_method", "img_signature_key_type", "img_signature_certificate_uuid",
)  # fmt: skip


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about a site that requires signatures."""
    if context.plan.openstack.image_signatures != "required":
        return
    services = context.plan.openstack.services
    if missing := [name for name in ("nova", "barbican") if name not in services]:
        yield error("signatures-without-service", _KEY, "openstack.services")(
            what=f"signatures of images are required, and {' and '.join(missing)} not among the services",
            why="nova-compute checks them, by certificates in Barbican: no instance would start",
            remedy=f"add: {', '.join(missing)}; or leave image_signatures out",
        )
    if in_ceph := [kind for kind, one in context.plan.hypervisor.compute.items() if one["disks"] == "ceph"]:
        yield error("signatures-never-read", _KEY, *(f"hardware.{kind}.compute.disks" for kind in in_ceph))(
            what=f"signatures of images are required, and hypervisors of hardware {', '.join(in_ceph)} have disks of "
            "instances in Ceph",
            why="such a disk is a clone of a raw image, which no hypervisor reads: altered and unsigned ones start",
            remedy="write compute.disks: host; or leave image_signatures out: with barbican, Glance checks uploads",
        )
    if "cinder" in services:
        yield warning("signatures-not-of-volumes", _KEY)(
            what="signatures of images are required, and an instance on a volume starts from an image without one, too",
            why="Cinder checks a signature where an image has one, and never where the volume is a clone in Ceph",
            remedy="tell users that volumes are outside of it",
        )
    yield warning("signatures-bind-moves", _KEY)(
        what="signatures of images are required, and hypervisors read a certificate as whoever starts, moves or "
        "evacuates an instance",
        why="without a right to it, evacuate and drain leave an instance where the other host has no copy of its image",
        remedy="have owners let the site's administrator read their certificates (guide of tenants, signed images)",
    )
    for name, image in context.site.cloud.images.items():
        if absent := [one for one in _PROPERTIES if one not in image.properties]:
            yield warning("cloud-image-unsigned", f"cloud.images.{name}.properties", _KEY)(
                what=f"{name} has no {', '.join(absent)}, and signatures of images are required",
                why="no hypervisor starts an instance of it, other than on a volume",
                remedy="sign it (guide of tenants, signed images), and write its properties",
            )
