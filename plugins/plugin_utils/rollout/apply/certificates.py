"""Create the Secrets with certificates of the site's authorities that the releases' pods mount.

A renewed certificate changes only the Secret: the kubelet updates the files in running pods within two minutes, and
no release changes.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

from ....module_utils._base import files
from ....module_utils._base.changes import Changes
from ...https import trust_file
from ...kube.client import Api
from ...kube.objects import MANAGER, shown, title
from ...kube.types import Object, resource_path
from ...layers import authorities
from ...pki import PkiError
from ...pki.leaf import certificate_path, key_name
from ...plan.types import Plan
from ...services.certificates import certificates
from ...services.record import PodCertificate


def place(api: Api | None, plan: Plan, changes: Changes, *, directory: Path, secret: Callable[[str], str]) -> None:
    """Create or update the Secret of each certificate; ``secret`` returns a secret of the store by name.

    ``api``: None in a prediction before there is a cluster. Raises PkiError for a certificate that was not issued,
    SecretsError, ApiError.
    """
    for one in certificates(plan):
        path = resource_path("v1", "secrets", namespace=plan.openstack.namespace, name=one.secret)
        item = _secret(one, namespace=plan.openstack.namespace)
        if files.read(certificate_path(directory, one.user)) is None and changes.check:
            changes.add(title(item), name=title(item))  # this run will issue it
            continue
        item["data"] = _data(plan, one, directory=directory, secret=secret)
        found = api.find(path) if api else None
        if (found or {}).get("data") == item["data"]:
            continue
        if changes.add(title(item), name=title(item), before=shown(found), after=shown(item)) and api:
            api.apply(path, item, manager=MANAGER)


def _secret(one: PodCertificate, *, namespace: str) -> Object:
    labels = {"app.kubernetes.io/managed-by": "groundup"}
    metadata = {"name": one.secret, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "kubernetes.io/tls"}


def _believed(plan: Plan, one: PodCertificate, directory: Path) -> Path:
    """Return the file of the CAs for ca.crt: a pod that trusts the site's CA asks public names."""
    name = trust_file(plan).name if one.believes == "site" else authorities.file(one.believes)
    return directory / name


def _data(plan: Plan, one: PodCertificate, *, directory: Path, secret: Callable[[str], str]) -> dict[str, str]:
    own, authority = certificate_path(directory, one.user), _believed(plan, one, directory)
    texts = {"tls.crt": files.read(own), "ca.crt": files.read(authority)}
    if missing := next((path for path, text in zip((own, authority), texts.values(), strict=True) if not text), None):
        raise PkiError(
            f"{missing} is missing",
            where="the site's state directory",
            why=f"pods mount Secret {one.secret} and would not start",
            remedy="run the playbook groundup.cloud.secrets, which writes it",
        )
    everything = {**texts, "tls.key": secret(key_name(one.user))}
    return {name: base64.b64encode(str(text).encode()).decode("ascii") for name, text in everything.items()}
