"""The cluster made again on control hosts that have nothing of it: from which keys, and what stands against it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....module_utils._base.consent import Reason
from ....module_utils._kubeadm import certificates, encryption, keys, networks
from ....module_utils._kubeadm.api import speaks
from ....module_utils._plan.kubernetes import KubernetesPlan
from ...kube.access import known_ca, known_nodes, load
from ...plan.types import Plan
from ...vault import Store
from ...vault.names import ENCRYPTION_KEY
from ...vault.rotation import FORMER, NEXT
from ..sets.disk import SetBackup
from ..sets.take import KEYS, STATE

AWAY, NETWORKS = "control-host-away", "unknown-networks"  # consents
_SHORT = 10.0  # seconds for an API that is lost


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """What there is to make the cluster again."""

    cluster: KubernetesPlan  # of the site file
    files: tuple[str, ...]  # of the set's part with keys
    ca: str  # SHA-256 of the set's CA
    known: str = ""  # and of the cluster that the control node knows
    unread: bool = False  # Secrets at rest need another key than control hosts get from the store
    strays: tuple[str, ...] = ()  # nodes of the cluster that the control node knows, in no site file
    api: str = ""  # URL at which the site's Kubernetes answers, or hangs, all the same


def look(plan: Plan, packed: bytes, store: Store) -> Again:
    """Read the keys of a set, a tar archive or nothing, and what the control node knows.

    Raises GroundupError, tarfile.TarError.
    """
    found = keys.shared(packed) if packed else {}
    texts = {name: text.decode(errors="replace") for name, text in found.items()}
    authority = texts.get("pki/ca.crt", "")
    ca = certificates.first_certificate(authority)
    return Again(
        cluster=plan.kubernetes, files=tuple(texts), ca=certificates.fingerprint(ca) if ca else "",
        known=known_ca(plan.site) or "", unread=unread(plan, store, packed, joins=True),
        strays=tuple(sorted(known_nodes(plan.site) - plan.hosts.keys())), api=_answering(plan, authority if ca else ""),
    )  # fmt: skip


def against(backup: SetBackup, again: Again, *, hosts: str, named: bool) -> Iterator[Reason]:
    """Yield what stands against it; a consent overrides the last alone. ``named``: the keys are to be restored."""
    saved = backup.versions.get("Kubernetes", "")
    if not named:
        yield Reason(
            text=f"control hosts were made anew ({hosts}): they need the keys of the set's cluster; name {KEYS} in "
            "restore_parts, too"
        )
    if lacking := [name for name in keys.NEEDED if name not in again.files]:
        yield Reason(text=f"its part {KEYS} lacks {', '.join(lacking)}, which nothing can make again")
    elif again.known not in ("", again.ca):
        yield Reason(
            text=f"it is of the cluster with the CA {again.ca[:16]}..., this site's has {again.known[:16]}... "
            "(cluster.json of the state directory): if the lost cluster was the set's, move cluster.json and "
            "kubeconfig away"
        )
    if again.unread:
        yield Reason(
            text="its Secrets at rest need other keys than control hosts get (kubernetes.encrypt_secrets, the secrets "
            f"store): use a set of after the rotation, or restore {STATE} of this one first"
        )
    if saved != again.cluster.version:
        yield Reason(
            text=f"it is of Kubernetes {saved}, the site file says {again.cluster.version}: write "
            f"kubernetes.version {saved}, restore, then upgrade"
        )
    made = backup.parts.get(KEYS, {}).get("networks") or {}
    for key, what, text, wanted in networks.differing(made, again.cluster):
        yield Reason(
            text=f"its cluster was made with {what} {text}, the site file says {wanted}: write kubernetes.{key} as it "
            "was; other networks mean a new cluster"
        )
    if unknown := networks.FIELDS.keys() - made.keys():
        yield Reason(
            code=NETWORKS, text=f"it does not say with which {', '.join(sorted(unknown))} its cluster was made (it is "
            "of an older collection, or its control host did not tell): compare the site file in its part "
            f"{STATE} (groundup.cloud.backup_open) with this one",
        )  # fmt: skip
    if again.api:
        yield Reason(
            text=f"control hosts were made anew ({hosts}), and the site's Kubernetes answers, or hangs, at "
            f"{again.api}: its etcd lives on a host that was not asked"
        )
    if again.strays:
        yield Reason(
            code=AWAY, text=f"{', '.join(again.strays)}, a node of the lost cluster, is not in the site file: if it "
            "was a control host it still has the old etcd; keep it off, and clear it before it starts",
        )  # fmt: skip


def unread(plan: Plan, store: Store, packed: bytes, *, joins: bool = False) -> bool:
    """Return whether control hosts, with the store's keys, cannot read all Secrets at rest of a set, by its keys.

    ``joins``: nor one that has the set's keys alone what another, with the store's, writes.
    """
    text = keys.shared(packed).get(keys.ENCRYPTION, b"").decode(errors="replace") if packed else ""
    ours, theirs = store.items(), {one.secret for one in encryption.listed(text)} - {""}
    known = {ours.get(ENCRYPTION_KEY + kind) for kind in ("", NEXT, FORMER)}
    agree = theirs <= known and (not joins or ours.get(ENCRYPTION_KEY) in theirs)
    return bool(theirs) and not (plan.kubernetes.encrypt_secrets and agree)


def _answering(plan: Plan, authority: str) -> str:
    """Return the URL, of site file or kubeconfig, where an API of the set's cluster answers or hangs; "": none."""
    kept, cluster = load(plan.site), plan.kubernetes
    urls = [f"https://{cluster.endpoint_address}:{cluster.endpoint_port}", *([kept.server] if kept else [])]
    return next((url for url in urls if speaks(url, authority=authority, timeout=_SHORT)), "")
