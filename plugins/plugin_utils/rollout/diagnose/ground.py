"""Rules about what pods depend on: nodes, volumes, images, cluster DNS."""

from __future__ import annotations

import re

from ...kube.workloads import PULL_REASONS
from ..types import Diagnosis, Symptom
from .matching import NAMES, SITE, said

_FULL = r"no space left on device|disk quota exceeded|errno 28\b"
_UNPLACED = r"FailedScheduling|had untolerated taint|nodes are available"
_UNREACHED = (
    r"connection refused|no route to host|i/o timeout|context deadline exceeded|connection reset|dial tcp|"
    r"service unavailable|bad gateway|gateway time-?out|unexpected EOF|certificate signed by unknown"
)


def node_down(symptom: Symptom) -> Diagnosis | None:
    """Blame a node that is not Ready."""
    down = symptom.facts.not_ready_nodes
    taints = re.search(r"node\.kubernetes\.io/(not-ready|unreachable)", symptom.text)
    unplaced = re.search(_UNPLACED, symptom.text)
    if not down or not (symptom.node in down or taints or unplaced):
        return None
    node = symptom.node if symptom.node in down else down[0]
    return Diagnosis(
        rule="node-not-ready", layer="node", object=f"Node/{node}", what=f"node {node} is not Ready",
        next=f"kubectl describe node {node}", patience=180.0,
    )  # fmt: skip


def node_full(symptom: Symptom) -> Diagnosis | None:
    """Blame a node whose disk is full."""
    evicted = symptom.reason == "Evicted" or "disk-pressure" in symptom.text
    pulled = symptom.reason in (*PULL_REASONS, "CreateContainerError", "RunContainerError")
    line = said(symptom, _FULL)
    logged = any(re.search(_FULL, entry, re.IGNORECASE) for entry in symptom.log)
    # A full node takes no pods; the scheduler then mentions only taints.
    unplaced = bool(symptom.facts.full_nodes) and bool(re.search(_UNPLACED, symptom.text))
    full = evicted or unplaced or symptom.node in symptom.facts.full_nodes
    if not (full or (line and (pulled or not logged))):
        return None
    node = symptom.node or next(iter(symptom.facts.full_nodes), "")
    return Diagnosis(
        rule="node-disk-full", layer="node", object=f"Node/{node}" if node else symptom.object,
        what=f"its disk is full: {line or symptom.message or 'disk pressure'}",
        next=f"kubectl describe node {node}".rstrip(), patience=60.0,
    )  # fmt: skip


def volume_full(symptom: Symptom) -> Diagnosis | None:
    """Blame a volume that is full."""
    line = said(symptom, _FULL)
    if not line:
        return None
    what = f"no space left: {line}"
    if not symptom.claims:  # without a claim, scratch directories and memory are the node's
        return Diagnosis(
            rule="volume-full", layer="node", object=f"Node/{symptom.node}", what=what,
            next=f"kubectl describe node {symptom.node}", patience=60.0,
        )  # fmt: skip
    claim = symptom.claims[0]
    return Diagnosis(
        rule="volume-full", layer="volume", object=f"PersistentVolumeClaim/{claim}", what=what,
        next=f"kubectl --namespace {symptom.namespace} describe persistentvolumeclaim {claim}", patience=60.0,
    )  # fmt: skip


def image(symptom: Symptom) -> Diagnosis | None:
    """Blame an image that is missing, or its registry."""
    if symptom.reason not in PULL_REASONS and not said(symptom, r"failed to pull image"):
        return None
    missing = said(symptom, r"not found|manifest unknown|access denied|does not exist|invalid reference|NeverPull")
    down = said(symptom, _UNREACHED)
    registry = symptom.image.partition("/")[0] or "the registry"
    if down and not missing:
        return Diagnosis(
            rule="registry-down", layer="image", object=f"registry {registry}",
            what=f"{registry} does not serve {symptom.image}: {down}",
            next=f"curl --fail https://{registry}/v2/ (from the node {symptom.node})", patience=90.0,
        )  # fmt: skip
    return Diagnosis(
        rule="image-missing", layer="image", object=f"image {symptom.image}",
        what=f"the registry has no such image: {missing or symptom.message or symptom.reason}",
        next=f"ansible-playbook -i {SITE} groundup.cloud.seed", patience=45.0 if missing else 120.0,
    )  # fmt: skip


def volume(symptom: Symptom) -> Diagnosis | None:
    """Blame a volume that is not bound or not mounted."""
    mount = said(symptom, r"FailedMount|FailedAttachVolume|MountVolume\.\S+ failed|unable to attach or mount volumes")
    unbound = said(symptom, r"unbound immediate PersistentVolumeClaims|persistentvolumeclaim \S+ not found")
    # A missing ConfigMap or Secret also fails to mount; that is the chart's fault.
    if symptom.reason != "ClaimUnbound" and not unbound and (not mount or re.search(r"configmap|secret", mount)):
        return None
    claim = f"PersistentVolumeClaim/{symptom.claims[0]}" if symptom.claims else symptom.object
    if symptom.reason == "ClaimUnbound":
        claim = symptom.object
    why = said(symptom, r"ProvisioningFailed|FailedBinding|storageclass")
    return Diagnosis(
        rule="volume-unbound" if symptom.reason == "ClaimUnbound" or unbound else "volume-mount", layer="volume",
        object=claim, what=why or symptom.message or unbound or mount,
        next=f"kubectl --namespace {symptom.namespace} describe {claim.replace('/', ' ').lower()}", patience=120.0,
    )  # fmt: skip


def dns(symptom: Symptom) -> Diagnosis | None:
    """Blame cluster DNS."""
    if not symptom.facts.dns_down or (not said(symptom, NAMES) and symptom.reason not in ("NotReady", "")):
        return None
    namespace, _, name = symptom.facts.dns_down.partition("/")
    return Diagnosis(
        rule="dns-down", layer="network", object=f"{name} ({namespace})",
        what=f"no pod serves cluster names. {said(symptom, NAMES)}".strip(),
        next=f"kubectl --namespace {namespace} describe {name.replace('/', ' ').lower()}", patience=120.0,
    )  # fmt: skip
