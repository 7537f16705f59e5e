"""Action of module groundup.cloud.secrets: runs on the controller; secrets leave it only for hosts that use them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.compose import site_plan
from ..plugin_utils.paths import state_dir
from ..plugin_utils.pki import authority_key, ensure_authority, ensure_leaf, ensure_packages_key, users
from ..plugin_utils.secrets import STORE, SecretsError, Store, open_store, password_source, required


def _not_given(store: Store, lacking: Sequence[str]) -> SecretsError:
    pairs = ", ".join(f"{name}: AQ..." for name in lacking)
    return SecretsError(
        f"the secrets store has no {', '.join(lacking)}",
        where=f"{store.path}; storage.external of the site file",
        why="the keys of a Ceph that somebody else runs are made there: a generated one would be refused",
        remedy="ask who runs it for them (`ceph auth get-key <user>`), then: ansible-playbook -i <site file> "
        f"groundup.cloud.secrets -e @FILE, and in FILE (ansible-vault encrypts it): secrets_given: {{{pairs}}}",
    )


class ActionModule(DocumentedAction):
    """Create missing secrets and certificates, or remove the password of a removed store."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the names of created secrets and certificates."""
        write, plan = not self._task.check_mode, site_plan(given["site_file"])
        directory = state_dir(plan.site)
        if given["state"] == "absent":
            return {"changed": password_source(plan.site).forget(directory / STORE, write=write)}
        store = open_store(plan.site, write=write)
        specs = users(plan)
        taken = store.take(given["given"])
        if plan.ceph and (lacking := store.lacking(plan.ceph.given)):
            raise _not_given(store, lacking)
        own = sorted({"", *(spec.authority for spec in specs)})
        created = store.ensure({*required(plan), *map(authority_key, own), *(spec.key_name for spec in specs)})
        authorities = {name: ensure_authority(store, directory, site=plan.site, name=name, write=write) for name in own}
        reasons = {f"ca of {name}" if name else "ca": one.reason for name, one in authorities.items()}
        reasons |= {
            spec.user: ensure_leaf(authorities[spec.authority], store, directory, spec, write=write).reason
            for spec in specs
        }
        if plan.host.packages == "seed":
            reasons["packages"] = ensure_packages_key(store, directory, write=write)
        issued = {name: why for name, why in reasons.items() if why}
        created = tuple(sorted({*taken, *created}))
        after = [f"secret {name}" for name in created] + [f"certificate {name}: {why}" for name, why in issued.items()]
        return {
            "changed": bool(after),
            "created": list(created),
            "issued": issued,
            "store": store.identity,
            "msg": f"{'made' if write else 'would be made'}: {', '.join(after)}" if after else "everything is there",
            "diff": {"before": "", "after": "".join(f"{line}\n" for line in after)},
        }
