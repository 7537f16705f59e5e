"""Mistakes in releases of the site's own and in values of charts, each with the finding it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

DIGEST = "@sha256:" + "0" * 64
PROBE = str(Path(__file__).parents[2] / "integration/rollout_api/charts/probe")
KEY = "openstack.extra_releases.probe"


def extra(**fields: Any) -> dict[str, Any]:
    """Return the changes that give a site one release of the probe chart, with ``fields``."""
    return {"openstack/extra_releases": {"probe": {"chart": PROBE, "version": "2026.1.0", **fields}}}


def two(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Return the changes that give a site two releases of the probe chart."""
    base = {"chart": PROBE, "version": "2026.1.0"}
    return {"openstack/extra_releases": {"one": base | first, "two": base | second}}


# name, severity, example, changes, a key the finding points at
KINDS = str(Path(__file__).parent / "chart_with_kinds")
CASES: list[tuple[str, str, str, dict[str, Any], str]] = [
    (
        "extra-release-name-taken",
        "error",
        "lab",
        {"openstack/extra_releases": {"nova": {"chart": PROBE, "version": "2026.1.0"}}},
        "openstack.extra_releases.nova",
    ),
    ("extra-release-need-unknown", "error", "lab", extra(needs=["keystnoe"]), f"{KEY}.needs"),
    ("extra-release-need-unknown", "error", "lab", extra(needs=["horizon"]), f"{KEY}.needs"),
    ("extra-release-needs-itself", "error", "lab", extra(needs=["probe"]), f"{KEY}.needs"),
    ("extra-release-needs-itself", "error", "lab", two({"needs": ["two"]}, {"needs": ["one"]}), "one.needs"),
    ("extra-release-namespace", "error", "lab", extra(namespace="kube-system"), f"{KEY}.namespace"),
    ("extra-release-namespace", "error", "lab", extra(namespace="openstack"), f"{KEY}.namespace"),
    ("extra-release-namespace", "error", "lab", extra(namespace="default"), f"{KEY}.namespace"),
    (
        "extra-release-namespace",
        "error",
        "lab",
        {**extra(namespace="cloud"), "openstack/namespace": "cloud"},
        f"{KEY}.namespace",
    ),
    (
        "extra-release-pod-security",
        "error",
        "lab",
        two({"namespace": "x", "pod_security": "restricted"}, {"namespace": "x"}),
        "extra_releases.two",
    ),
    ("extra-release-privileged", "warning", "lab", extra(pod_security="privileged"), f"{KEY}.pod_security"),
    ("extra-release-chart", "error", "lab", extra(chart="./nowhere"), f"{KEY}.chart"),
    ("extra-release-chart", "error", "lab", extra(chart=str(Path(__file__).parent)), f"{KEY}.chart"),
    ("extra-release-chart", "error", "lab", extra(chart=__file__), f"{KEY}.chart"),
    ("extra-release-kinds", "info", "lab", extra(chart=KINDS), f"{KEY}.chart"),
    ("extra-release-chart-version", "error", "lab", extra(version="1.0.0"), f"{KEY}.version"),
    (
        "extra-release-chart-unpinned",
        "error",
        "lab",
        extra(chart="oci://registry.example.org/charts/probe"),
        f"{KEY}.chart",
    ),
    ("extra-release-values", "error", "lab", extra(values="./nowhere.yml"), f"{KEY}.values"),
    ("extra-release-values", "error", "lab", extra(values=__file__), f"{KEY}.values"),
    ("extra-release-image-unpinned", "error", "lab", extra(images={"a": "quay.io/org/a:1"}), f"{KEY}.images.a"),
    (
        "extra-release-image-unpinned",
        "error",
        "lab",
        extra(images={"a": f"quay.io/org/a:latest{DIGEST}"}),
        f"{KEY}.images.a",
    ),
    ("extra-release-image-unpinned", "error", "lab", extra(images={"a": f"quay.io/org/a{DIGEST}"}), f"{KEY}.images.a"),
    ("extra-release-image-form", "error", "lab", extra(images={"a": f"grafana/grafana:1{DIGEST}"}), f"{KEY}.images.a"),
    ("extra-release-image-form", "error", "lab", extra(images={"a": f"quay.io/Org/a:1{DIGEST}"}), f"{KEY}.images.a"),
    (
        "extra-release-image-twice",
        "error",
        "lab",
        extra(images={"a": f"quay.io/org/a:1{DIGEST}", "b": f"quay.io/org/a:1{DIGEST[:-1]}1"}),
        f"{KEY}.images.b",
    ),
    (
        "extra-release-image-elsewhere",
        "error",
        "lab",
        {**extra(images={"a": f"quay.io/org/a:1{DIGEST}"}), "supply/registry": "images.example.org:443"},
        f"{KEY}.images.a",
    ),
    (
        "extra-release-image-undefined",
        "error",
        "lab",
        extra(values={"image": {"$image": "b"}}, images={"a": f"quay.io/org/a:1{DIGEST}"}),
        f"{KEY}.values.image",
    ),
    (
        "extra-release-image-undefined",
        "error",
        "lab",
        extra(values={"image": {"$image": "a.digset"}}, images={"a": f"quay.io/org/a:1{DIGEST}"}),
        f"{KEY}.values.image",
    ),
    (
        "extra-release-image-unused",
        "warning",
        "lab",
        extra(images={"a": f"quay.io/org/a:1{DIGEST}"}),
        f"{KEY}.images.a",
    ),
    (
        "extra-release-image-undefined",
        "error",
        "lab",
        extra(values={"image": {"$image": "a", "tag": "1"}}, images={"a": f"quay.io/org/a:1{DIGEST}"}),
        f"{KEY}.values.image",
    ),
    (
        "override-without-release",
        "error",
        "lab",
        {**extra(), "openstack/overrides": {"probe": {"why": "w", "values": {}}}},
        "overrides.probe",
    ),
    ("override-unknown-key", "warning", "lab", extra(values={"greting": "hello"}), f"{KEY}.values.greting"),
    ("override-wrong-type", "warning", "lab", extra(values={"greeting": {"en": "hello"}}), f"{KEY}.values.greeting"),
    (
        "override-wrong-type",
        "warning",
        "lab",
        {"openstack/overrides": {"keystone": {"why": "w", "values": {"pod": {"replicas": 3}}}}},
        "overrides.keystone.values.pod.replicas",
    ),
]
