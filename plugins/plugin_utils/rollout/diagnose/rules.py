"""Name the layer at fault: a table of rules, tried in order; the first match decides.

A rule looks at the symptom alone. Deeper causes come first: a lost node explains a pod that is not ready, and a
database that refuses a password explains a job that fails. `docs/failure-cards.md` shows all rules.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ...services import provider
from ..types import Diagnosis, Symptom
from . import ground
from .matching import NAMES, SITE, Rule, describe, logs, said, shortened, text_rule

_MISMATCH = (
    r"modulenotfounderror|importerror|no module named|nosuchopt|executable file not found|exec format error|"
    r"no such file or directory: unknown|can't locate revision identified|unrecognized arguments:|"
    r"error: (argument \S+: )?invalid choice|no such option:|failed to open python file"
)
# Seconds. A ConfigMap or Secret that a volume lacked may exist by now: the kubelet retries after 122 s at the latest,
# and events of its former tries stay.
_MOUNTED_AGAIN = 150.0
_ENDED = ("BackoffLimitExceeded", "DeadlineExceeded", "PodFailurePolicy")
_FINAL = 5.0  # seconds for helm to tell that its hook failed
# Failed runs after which the program of a job is to blame. The kubelet waits 10, 20, 40, 80 and 160 s between them.
_MIGRATIONS, _RUNS = 4, 6
_ITSELF = ("migration-failed", "traceback", "unready")  # rules that blame the program
_PEER = r"connection (refused|reset)|timed ?out|no route to host|unreachable|unavailable|\b50[0234]\b"


def diagnose(symptom: Symptom) -> Diagnosis:
    """Return the diagnosis of the first rule that matches; the last one always does."""
    found = next(filter(None, (rule.match(symptom) for rule in RULES)))
    if symptom.final:
        return replace(found, patience=_FINAL)
    return replace(found, patience=0.0) if found.rule in _ITSELF and _hopeless(symptom) else found


def _hopeless(symptom: Symptom) -> bool:
    """Return whether a job's program failed time and again, and of nothing that may come up by itself."""
    enough = _MIGRATIONS if migrates(symptom) else _RUNS
    job = symptom.owner.startswith("Job/") and not symptom.init
    return job and symptom.crashes >= enough and not said(symptom, _PEER)


def explains(symptom: Symptom) -> bool:
    """Return whether the cause is known; the last rule only knows that something is not ready."""
    return bool(symptom.exit_code) or diagnose(symptom).rule != RULES[-1].name


def _render(symptom: Symptom) -> Diagnosis | None:
    if symptom.stage != "render":
        return None
    return Diagnosis(
        rule="chart-render", layer="chart", object=symptom.object, what=symptom.message,
        next=f"ansible-playbook -i {SITE} groundup.cloud.openstack --check --diff", patience=0.0,
    )  # fmt: skip


def _verification(symptom: Symptom) -> Diagnosis | None:
    """Blame the first failed check; checks of needed releases come first."""
    failed = [check for check in symptom.checks if not check.ok]
    if symptom.stage != "verify" or not failed:
        return None
    check = failed[0]
    suspect = check.name == "quorum"
    kind, _, name = check.object.partition("/")
    command = f"kubectl --namespace {symptom.namespace} get pods --output wide"
    if kind and name:
        command = f"kubectl --namespace {symptom.namespace} describe {kind.lower()} {name}"
    return Diagnosis(
        rule="quorum" if suspect else f"verify-{check.name.replace(' ', '-')}",
        layer=check.layer,
        object=check.object or symptom.object,
        what=f"suspect: the quorum. {check.detail}" if suspect else f"{check.name}: {check.detail}",
        next=command,
    )


def _mismatch(symptom: Symptom) -> Diagnosis | None:
    """Blame an image that lacks a program the chart calls, or that is older than the database's schema."""
    line = said(symptom, _MISMATCH)
    if not line:
        return None
    return Diagnosis(
        rule="image-mismatch", layer="image", object=symptom.object, patience=120.0, next=logs(symptom),
        what=f"{f'image {symptom.image}' if symptom.image else 'the image'} is not of the chart's release: {line}",
    )  # fmt: skip


def _migration(symptom: Symptom) -> Diagnosis | None:
    """Blame the migration itself: the rules before this one found no fault in what it depends on."""
    if not migrates(symptom) or not (symptom.exit_code or symptom.reason in _ENDED):
        return None
    line = _last_exception(symptom) or said(symptom, r"error|fail|abort")
    return Diagnosis(
        rule="migration-failed", layer="database", object=symptom.owner, next=logs(symptom),
        what=f"the database's migration failed: {line or symptom.message or symptom.reason}",
    )  # fmt: skip


def migrates(symptom: Symptom) -> bool:
    """Return whether the symptom is of a job that migrates the release's database."""
    return bool(re.match(r"Job/.*\bdb-(sync|contract)\b", symptom.owner))


def _job_failed(symptom: Symptom) -> Diagnosis | None:
    line = _last_exception(symptom)
    if not line:
        return None
    return Diagnosis(
        rule="traceback", layer="service", object=symptom.object if symptom.owner == "" else symptom.owner,
        what=f"its program ended with {line}", next=logs(symptom),
    )  # fmt: skip


def _last_exception(symptom: Symptom) -> str:
    traced = False
    found = ""
    for line in symptom.log:
        traced = traced or "Traceback (most recent call last)" in line
        match = re.search(r"(?:^|\s)((?:\w+\.)*\w*(?:Error|Exception|Exit|Failure|NotFound|Refused)\b.*)$", line)
        if traced and match:
            found = shortened(match.group(1))
    return found


def _fallback(symptom: Symptom) -> Diagnosis | None:
    what = symptom.message or symptom.reason or "it is not ready, and nothing says why"
    if symptom.exit_code:
        what = f"container {symptom.container} ended with code {symptom.exit_code}. {symptom.message}".strip()
    return Diagnosis(
        rule="unready", layer="service", object=symptom.object, what=what,
        next=logs(symptom) if symptom.exit_code else describe(symptom),
    )  # fmt: skip


def _applying(symptom: Symptom) -> bool:
    return symptom.stage == "apply"


def _starting(symptom: Symptom) -> bool:
    return symptom.stage == "start"


_DATABASE, _QUEUE = provider("database").inspect, provider("queue").inspect
RULES: tuple[Rule, ...] = (
    Rule("chart-render", _render),
    Rule("verification", _verification),
    Rule("node-not-ready", ground.node_down),
    Rule("node-disk-full", ground.node_full),
    Rule("volume-full", ground.volume_full),
    Rule("image", ground.image),
    Rule("volume", ground.volume),
    Rule("dns-down", ground.dns),
    text_rule(
        "database-lost", "database", r"refused: (no member holds a database|members hold data of )",
        "no database is made or chosen without consent", next_=logs, patience=60.0,
    ),
    text_rule(
        "db-password", "credentials", r"access denied for user|\(1045,", "the database refuses the password",
        next_=f"ansible-playbook -i {SITE} groundup.cloud.openstack --tags verify", patience=120.0,
    ),
    text_rule(
        "mq-password", "credentials", r"ACCESS_REFUSED|PRECONDITION.*auth|user .* - invalid credentials",
        "the message queue refuses the password", next_=_QUEUE, patience=120.0,
    ),
    # Before passwords: with a wrong clock, tokens are refused, too.
    text_rule(
        "clock-skew", "node",
        r"(?<!has expired or is )not yet valid|current time \S+ is before|not valid yet|"
        r"issued in the future|ImmatureSignature|clock skew|clock is (ahead|behind)",
        "clocks differ", next_=f"ansible-playbook -i {SITE} groundup.cloud.host --tags verify", patience=120.0,
    ),
    text_rule(
        "api-password", "credentials", r"http 401|\b401 unauthorized|requires authentication|invalid username or pass",
        "Keystone refuses the password", next_=logs, patience=120.0,
    ),
    text_rule(
        "secret-missing", "credentials", r"secret \S+ not found|references non-existent secret key",
        "a Secret the pod needs is missing", next_=describe, patience=_MOUNTED_AGAIN,
    ),
    text_rule(
        "quorum", "database", r"WSREP has not yet prepared|\b1047\b|non-primary|failed to reach primary view",
        f"suspect: the {provider('database').quorum} quorum", next_=_DATABASE,
    ),
    text_rule(
        "db-unreachable", "database",
        r"can't connect to (mysql|mariadb|server)|lost connection to (mysql|mariadb|server)|\b2003\b|"
        r"too many connections|server has gone away",
        "the database does not answer", next_=_DATABASE,
    ),
    text_rule(
        "mq-unreachable", "message queue",
        r"amqp.*(unreachable|refused|timed? ?out|closed)|:5672\b|nodedown|unable to connect to (epmd|node)|mnesia|"
        r"inconsistent_cluster|partitioned_network",
        "the message queue does not answer", next_=_QUEUE,
    ),
    text_rule(
        "names", "network", NAMES, "a name does not resolve", next_="kubectl --namespace NAMESPACE get services",
    ),
    Rule("image-mismatch", _mismatch),
    text_rule(
        "chart-missing-object", "chart",
        r"configmap \S+ not found|references non-existent config key|CreateContainerConfigError",
        "the chart refers to what it does not make", next_=describe, patience=_MOUNTED_AGAIN,
    ),
    text_rule(
        "memory-limit", "chart", r"OOMKilled", "a container needs more memory than its limit (pod.resources)",
        next_=describe,
    ),
    text_rule(
        "no-room", "node", r"insufficient (cpu|memory|pods|ephemeral)|didn't match pod|node affinity|anti-affinity|"
        r"0/\d+ nodes are available", "no node can take the pod", next_="kubectl describe nodes", patience=120.0,
    ),
    text_rule(
        "pod-network", "network", r"FailedCreatePodSandBox|cni plugin|network plugin|network is not ready",
        "the pod gets no network", next_=describe, patience=120.0,
    ),
    text_rule(
        "refused", "chart",
        r"immutable|is invalid|forbidden|conflict|unable to build kubernetes objects|unknown field|admission webhook|"
        r"cannot be imported|no matches for kind",
        "the API server refuses what the chart makes", next_=describe, only=_applying,
    ),
    Rule("migration-failed", _migration),
    Rule("traceback", _job_failed),
    text_rule(
        "unreachable", "network", r"connection refused|timed out|no route to host|network is unreachable",
        "something it calls does not answer", next_=logs, only=_starting,
    ),
    Rule("unready", _fallback),
)  # fmt: skip
