"""Which layer is at fault: a table of small rules, tried in order, the first that fits decides.

A rule looks at the evidence only. What lies deeper comes first: a node that is gone explains a pod that is not ready,
and a database that refuses a password explains a job that fails. `docs/failure-cards.md` shows them all.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from ..types import Diagnosis, Evidence, Layer, Object

SITE = "SITE"  # stands for the path of the site file in a next command, as NAMESPACE does for the release's

Match = Callable[[Evidence], Diagnosis | None]
_PULL = ("ImagePullBackOff", "ErrImagePull", "ErrImageNeverPull", "InvalidImageName", "RegistryUnavailable")
_NAMES = r"name or service not known|temporary failure in name resolution|could not resolve|no such host|getaddrinfo"
_FULL = r"no space left on device|disk quota exceeded|errno 28\b"
_UNPLACED = r"FailedScheduling|had untolerated taint|nodes are available"
_UNREACHED = (
    r"connection refused|no route to host|i/o timeout|context deadline exceeded|connection reset|dial tcp|"
    r"service unavailable|bad gateway|gateway time-?out|unexpected EOF|certificate signed by unknown"
)


@dataclass(frozen=True, slots=True)
class Rule:
    """A name (stable, shown on the card) and the test."""

    name: str
    match: Match


def diagnose(evidence: Evidence) -> Diagnosis:
    """Return the diagnosis of the first rule that fits; the last one always does."""
    for rule in RULES:
        diagnosis = rule.match(evidence)
        if diagnosis is not None:
            return diagnosis
    raise AssertionError("the last rule fits everything")


def explains(evidence: Evidence) -> bool:
    """Say whether a rule knows why; the last one only knows that something is not ready."""
    return bool(evidence.exit_code) or diagnose(evidence).rule != RULES[-1].name


def waits_for_image(pod: Object) -> bool:
    """Say whether a container of ``pod`` cannot start because its image cannot be had."""
    return any((state.get("waiting") or {}).get("reason") in _PULL for state in _states(pod))


def runs(pod: Object) -> bool:
    """Say whether a container of ``pod`` runs."""
    return any("running" in state for state in _states(pod))


def _states(pod: Object) -> list[Object]:
    status = pod.get("status") or {}
    containers = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    return [entry.get("state") or {} for entry in containers]


def _describe(evidence: Evidence) -> str:
    kind, _, name = evidence.object.partition("/")
    if not name:  # not an object but the release itself
        return f"helm --namespace {evidence.namespace} history {evidence.release}"
    return f"kubectl --namespace {evidence.namespace} describe {kind.lower()} {name}"


def _logs(evidence: Evidence) -> str:
    kind, _, name = evidence.object.partition("/")
    if kind != "Pod":
        return _describe(evidence)
    container = f" --container {evidence.container}" if evidence.container else ""
    return f"kubectl --namespace {evidence.namespace} logs {name}{container} --previous"


def _said(evidence: Evidence, pattern: str) -> str:
    """Return the last line in which ``pattern`` occurs, shortened."""
    for line in reversed(evidence.text.splitlines()):
        if re.search(pattern, line, re.IGNORECASE):
            return _shortened(line.strip())
    return ""


def _shortened(line: str) -> str:
    """Return ``line`` in a card's width. What is wrapped around a cause stands before it, so the end is kept."""
    return line if len(line) <= 240 else f"{line[:77]} ... {line[-158:]}"


def _text_rule(
    name: str, layer: Layer, pattern: str, meaning: str, *, next_: Match | Callable[[Evidence], str] | str,
    object_: str | None = None, patience: float | None = None, only: Callable[[Evidence], bool] | None = None,
) -> Rule:  # fmt: skip
    def match(evidence: Evidence) -> Diagnosis | None:
        if only is not None and not only(evidence):
            return None
        line = _said(evidence, pattern)
        if not line:
            return None
        command = next_(evidence) if callable(next_) else next_
        return Diagnosis(
            rule=name, layer=layer, object=object_ or evidence.object, what=f"{meaning}: {line}",
            next=str(command).replace("NAMESPACE", evidence.namespace), patience=patience,
        )  # fmt: skip

    return Rule(name, match)


def _render(evidence: Evidence) -> Diagnosis | None:
    if evidence.stage != "render":
        return None
    return Diagnosis(
        rule="chart-render", layer="chart", object=evidence.object, what=evidence.message,
        next=f"ansible-playbook -i {SITE} groundup.cloud.openstack --check --diff", patience=0.0,
    )  # fmt: skip


def _verification(evidence: Evidence) -> Diagnosis | None:
    """A service that runs and does not work. What it stands on was asked too, and is held responsible first."""
    failed = [check for check in evidence.checks if not check.ok]
    if evidence.stage != "verify" or not failed:
        return None
    check = failed[0]
    suspect = check.name == "quorum"
    kind, _, name = check.object.partition("/")
    command = f"kubectl --namespace {evidence.namespace} get pods --output wide"
    if kind and name:
        command = f"kubectl --namespace {evidence.namespace} describe {kind.lower()} {name}"
    return Diagnosis(
        rule="quorum" if suspect else f"verify-{check.name.replace(' ', '-')}",
        layer=check.layer,
        object=check.object or evidence.object,
        what=f"suspect: the quorum. {check.detail}" if suspect else f"{check.name}: {check.detail}",
        next=command,
    )


def _node_down(evidence: Evidence) -> Diagnosis | None:
    down = evidence.facts.not_ready_nodes
    taints = re.search(r"node\.kubernetes\.io/(not-ready|unreachable)", evidence.text)
    unplaced = re.search(_UNPLACED, evidence.text)
    if not down or not (evidence.node in down or taints or unplaced):
        return None
    node = evidence.node if evidence.node in down else down[0]
    return Diagnosis(
        rule="node-not-ready", layer="node", object=f"Node/{node}", what=f"node {node} is not Ready",
        next=f"kubectl describe node {node}", patience=180.0,
    )  # fmt: skip


def _node_full(evidence: Evidence) -> Diagnosis | None:
    evicted = evidence.reason == "Evicted" or "disk-pressure" in evidence.text
    pulled = evidence.reason in (*_PULL, "CreateContainerError", "RunContainerError")
    line = _said(evidence, _FULL)
    logged = any(re.search(_FULL, entry, re.IGNORECASE) for entry in evidence.log)
    # A full node takes no pods; the scheduler only speaks of taints then.
    unplaced = bool(evidence.facts.full_nodes) and bool(re.search(_UNPLACED, evidence.text))
    full = evicted or unplaced or evidence.node in evidence.facts.full_nodes
    if not (full or (line and (pulled or not logged))):
        return None
    node = evidence.node or next(iter(evidence.facts.full_nodes), "")
    return Diagnosis(
        rule="node-disk-full", layer="node", object=f"Node/{node}" if node else evidence.object,
        what=f"its disk is full: {line or evidence.message or 'disk pressure'}",
        next=f"kubectl describe node {node}".rstrip(), patience=60.0,
    )  # fmt: skip


def _volume_full(evidence: Evidence) -> Diagnosis | None:
    line = _said(evidence, _FULL)
    if not line:
        return None
    what = f"no space left: {line}"
    if not evidence.claims:  # its scratch directories and its memory are the node's
        return Diagnosis(
            rule="volume-full", layer="node", object=f"Node/{evidence.node}", what=what,
            next=f"kubectl describe node {evidence.node}", patience=60.0,
        )  # fmt: skip
    claim = evidence.claims[0]
    return Diagnosis(
        rule="volume-full", layer="volume", object=f"PersistentVolumeClaim/{claim}", what=what,
        next=f"kubectl --namespace {evidence.namespace} describe persistentvolumeclaim {claim}", patience=60.0,
    )  # fmt: skip


def _image(evidence: Evidence) -> Diagnosis | None:
    if evidence.reason not in _PULL and not _said(evidence, r"failed to pull image"):
        return None
    missing = _said(evidence, r"not found|manifest unknown|access denied|does not exist|invalid reference|NeverPull")
    down = _said(evidence, _UNREACHED)
    registry = evidence.image.partition("/")[0] or "the registry"
    if down and not missing:
        return Diagnosis(
            rule="registry-down", layer="image", object=f"registry {registry}",
            what=f"{registry} does not serve {evidence.image}: {down}",
            next=f"curl --fail http://{registry}/v2/ (from the node {evidence.node})", patience=90.0,
        )  # fmt: skip
    return Diagnosis(
        rule="image-missing", layer="image", object=f"image {evidence.image}",
        what=f"the registry has no such image: {missing or evidence.message or evidence.reason}",
        next=f"ansible-playbook -i {SITE} groundup.cloud.seed", patience=45.0 if missing else 120.0,
    )  # fmt: skip


def _volume(evidence: Evidence) -> Diagnosis | None:
    mount = _said(evidence, r"FailedMount|FailedAttachVolume|MountVolume\.\S+ failed|unable to attach or mount volumes")
    unbound = _said(evidence, r"unbound immediate PersistentVolumeClaims|persistentvolumeclaim \S+ not found")
    # A missing ConfigMap or Secret also fails to mount; that is the chart's doing.
    if evidence.reason != "ClaimUnbound" and not unbound and (not mount or re.search(r"configmap|secret", mount)):
        return None
    claim = f"PersistentVolumeClaim/{evidence.claims[0]}" if evidence.claims else evidence.object
    if evidence.reason == "ClaimUnbound":
        claim = evidence.object
    said = _said(evidence, r"ProvisioningFailed|FailedBinding|storageclass")
    return Diagnosis(
        rule="volume-unbound" if evidence.reason == "ClaimUnbound" or unbound else "volume-mount", layer="volume",
        object=claim, what=said or evidence.message or unbound or mount,
        next=f"kubectl --namespace {evidence.namespace} describe {claim.replace('/', ' ').lower()}", patience=120.0,
    )  # fmt: skip


def _dns(evidence: Evidence) -> Diagnosis | None:
    if not evidence.facts.dns_down or (not _said(evidence, _NAMES) and evidence.reason not in ("NotReady", "")):
        return None
    namespace, _, name = evidence.facts.dns_down.partition("/")
    return Diagnosis(
        rule="dns-down", layer="network", object=f"{name} ({namespace})",
        what=f"nobody serves cluster names. {_said(evidence, _NAMES)}".strip(),
        next=f"kubectl --namespace {namespace} describe {name.replace('/', ' ').lower()}", patience=120.0,
    )  # fmt: skip


def _job_failed(evidence: Evidence) -> Diagnosis | None:
    line = _last_exception(evidence)
    if not line:
        return None
    return Diagnosis(
        rule="traceback", layer="service", object=evidence.object if evidence.owner == "" else evidence.owner,
        what=f"its program ended with {line}", next=_logs(evidence),
    )  # fmt: skip


def _last_exception(evidence: Evidence) -> str:
    traced = False
    found = ""
    for line in evidence.log:
        traced = traced or "Traceback (most recent call last)" in line
        match = re.search(r"(?:^|\s)((?:\w+\.)*\w*(?:Error|Exception|Exit|Failure|NotFound|Refused)\b.*)$", line)
        if traced and match:
            found = _shortened(match.group(1))
    return found


def _fallback(evidence: Evidence) -> Diagnosis | None:
    what = evidence.message or evidence.reason or "it is not ready, and nothing says why"
    if evidence.exit_code:
        what = f"container {evidence.container} ended with code {evidence.exit_code}. {evidence.message}".strip()
    return Diagnosis(
        rule="unready", layer="service", object=evidence.object, what=what,
        next=_logs(evidence) if evidence.exit_code else _describe(evidence),
    )  # fmt: skip


def _applying(evidence: Evidence) -> bool:
    return evidence.stage == "apply"


def _starting(evidence: Evidence) -> bool:
    return evidence.stage == "start"


_GALERA = "kubectl --namespace NAMESPACE get pods --selector application=mariadb,component=server --output wide"
_RABBIT = "kubectl --namespace NAMESPACE exec rabbitmq-rabbitmq-0 -- rabbitmqctl cluster_status"
RULES: tuple[Rule, ...] = (
    Rule("chart-render", _render),
    Rule("verification", _verification),
    Rule("node-not-ready", _node_down),
    Rule("node-disk-full", _node_full),
    Rule("volume-full", _volume_full),
    Rule("image", _image),
    Rule("volume", _volume),
    Rule("dns-down", _dns),
    _text_rule(
        "db-password", "credentials", r"access denied for user|\(1045,", "the database refuses the password",
        next_=f"ansible-playbook -i {SITE} groundup.cloud.openstack --tags verify", patience=120.0,
    ),
    _text_rule(
        "mq-password", "credentials", r"ACCESS_REFUSED|PRECONDITION.*auth|user .* - invalid credentials",
        "the message queue refuses the password", next_=_RABBIT, patience=120.0,
    ),
    _text_rule(
        "api-password", "credentials", r"http 401|\b401 unauthorized|requires authentication|invalid username or pass",
        "Keystone refuses the password", next_=_logs, patience=120.0,
    ),
    _text_rule(
        "secret-missing", "credentials", r"secret \S+ not found|references non-existent secret key",
        "a Secret the pod needs is missing", next_=_describe, patience=60.0,
    ),
    _text_rule(
        "quorum", "database", r"WSREP has not yet prepared|\b1047\b|non-primary|failed to reach primary view",
        "suspect: the Galera quorum", next_=_GALERA,
    ),
    _text_rule(
        "db-unreachable", "database",
        r"can't connect to (mysql|mariadb|server)|lost connection to (mysql|mariadb|server)|\b2003\b|"
        r"too many connections|server has gone away",
        "the database does not answer", next_=_GALERA,
    ),
    _text_rule(
        "mq-unreachable", "message queue",
        r"amqp.*(unreachable|refused|timed? ?out|closed)|:5672\b|nodedown|unable to connect to (epmd|node)|mnesia|"
        r"inconsistent_cluster|partitioned_network",
        "the message queue does not answer", next_=_RABBIT,
    ),
    _text_rule(
        "names", "network", _NAMES, "a name does not resolve", next_="kubectl --namespace NAMESPACE get services",
    ),
    _text_rule(
        "image-mismatch", "image",
        r"modulenotfounderror|importerror|no module named|nosuchopt|executable file not found|exec format error|"
        r"no such file or directory: unknown|can't locate revision identified",
        "the image does not fit the chart or the release (U2)", next_=_logs, patience=120.0,
    ),
    _text_rule(
        "chart-missing-object", "chart",
        r"configmap \S+ not found|references non-existent config key|CreateContainerConfigError",
        "the chart refers to what it does not make", next_=_describe, patience=60.0,
    ),
    _text_rule(
        "memory-limit", "chart", r"OOMKilled", "a container needs more memory than its limit (pod.resources)",
        next_=_describe,
    ),
    _text_rule(
        "no-room", "node", r"insufficient (cpu|memory|pods|ephemeral)|didn't match pod|node affinity|anti-affinity|"
        r"0/\d+ nodes are available", "no node can take the pod", next_="kubectl describe nodes", patience=120.0,
    ),
    _text_rule(
        "pod-network", "network", r"FailedCreatePodSandBox|cni plugin|network plugin|network is not ready",
        "the pod gets no network", next_=_describe, patience=120.0,
    ),
    _text_rule(
        "refused", "chart",
        r"immutable|is invalid|forbidden|conflict|unable to build kubernetes objects|unknown field|admission webhook|"
        r"cannot be imported|no matches for kind",
        "the API server refuses what the chart makes", next_=_describe, only=_applying,
    ),
    Rule("traceback", _job_failed),
    _text_rule(
        "unreachable", "network", r"connection refused|timed out|no route to host|network is unreachable",
        "something it calls does not answer", next_=_logs, only=_starting,
    ),
    Rule("unready", _fallback),
)  # fmt: skip
