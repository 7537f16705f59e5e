"""The secrets and certificates that a site needs: create what is missing, or remove them with the site's state."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from . import site_identity
from .compose import with_values
from .layers.authorities import USES, key_name
from .paths import state_dir
from .pki import check_key, ensure_authority, ensure_bundle, ensure_leaf, ensure_packages_key, users
from .plan.types import Plan
from .site_proxy import given_login
from .vault import STORE, SecretsError, Store, open_store, password_source, required
from .vault.names import EDGE_KEY

_SHOWN = 8  # machines of an error


def create(plan: Plan, given: Mapping[str, str], *, write: bool) -> dict[str, Any]:
    """Create missing secrets, all but those of ``given`` generated, and certificates; return the step's result.

    Raises GroundupError, OSError.
    """
    plan, directory = with_values(plan), state_dir(plan.site)
    store, specs = open_store(plan.site, write=write), users(plan)
    if plan.edge.certificate:  # before anything is changed
        check_key(plan.edge.certificate, given.get(EDGE_KEY, store.items().get(EDGE_KEY)))
    taken = store.take(given, replacing=[EDGE_KEY])
    for error in _not_given(plan, store):
        raise error
    logins = {"proxy.login": plan.proxy and plan.proxy.login, "supply.registry_login": plan.supply.registry_login}
    for key, name in logins.items():
        if name:
            given_login(store, name, key=key)
    created = store.ensure({*required(plan), *map(key_name, USES), *(spec.key_name for spec in specs)})
    signing = {use: ensure_authority(store, directory, site=plan.site, use=use, write=write) for use in USES}
    reasons = {"ca" if use == "site" else f"ca of {use}": one.reason for use, one in signing.items()} | {
        spec.user: ensure_leaf(signing[spec.authority], store, directory, spec, write=write).reason for spec in specs
    }
    reasons["bundle of CAs"] = ensure_bundle(plan, signing["site"], write=write)
    if plan.host.packages == "seed":
        reasons["packages"] = ensure_packages_key(store, directory, write=write)
    issued = {name: why for name, why in reasons.items() if why}
    names = sorted({*taken, *created})
    after = [f"secret {name}" for name in names] + [f"certificate {name}: {why}" for name, why in issued.items()]
    return {
        "changed": bool(after),
        "created": names,
        "issued": issued,
        "store": store.identity,
        "msg": f"{'made' if write else 'would be made'}: {', '.join(after)}" if after else "everything is there",
        "diff": {"before": "", "after": "".join(f"{line}\n" for line in after)},
    }


def remove(plan: Plan, *, write: bool, keep: bool, force: Collection[str]) -> dict[str, Any]:
    """Remove state and password of a lab, or move the state aside; return the step's result.

    Raises GroundupError, OSError.
    """
    lab, directory = site_identity.refuse_removal(plan, force), state_dir(plan.site)
    if keep or site_identity.of_plan(plan).machines:
        return {"changed": False, "msg": f"{directory} stays"}
    there, said = site_identity.there(plan), f"{directory} is removed"
    if there and write and (aside := site_identity.remove(plan, lab=lab)):
        said = f"{directory} is moved to {aside}; its password stays"
    # Last, because a store needs its password as long as it exists: one that was moved aside, too.
    gone = lab and password_source(plan.site).forget(directory / STORE, write=write)
    return {"changed": there or gone, "msg": said if there else f"there is no {directory}"}


def _not_given(plan: Plan, store: Store) -> Iterator[SecretsError]:
    """Yield an error for secrets that somebody else made, which the store lacks: a generated one would be refused."""
    if plan.ceph and (lacking := store.lacking(plan.ceph.given)):
        yield _error(
            store, lacking, where="storage.external",
            why="the keys of a Ceph that somebody else runs are made there: a generated one would be refused",
            how="ask who runs it for them (`ceph auth get-key <user>`)", value="AQ...",
        )  # fmt: skip
    of_bmcs: dict[str, list[str]] = {}
    for host in plan.hosts.values():
        if host.bmc and plan.metal and plan.profile != "lab":
            of_bmcs.setdefault(str(host.bmc["credentials"]), []).append(host.name)
    if lacking := store.lacking(of_bmcs):
        whose = "; ".join(f"{name}: {_named(of_bmcs[name])}" for name in lacking)
        yield _error(
            store, lacking, where=f"machines.<group>.bmc.credentials ({whose})",
            why="BMCs have their passwords already: tries with a generated one lock the account out",
            how="correct credentials if a name is mistyped, else look the passwords up", value="...",
        )  # fmt: skip
    of_directories = {one.secret: name for name, one in plan.identity.domains.items() if one.secret}
    if lacking := store.lacking(of_directories):
        yield _error(
            store, lacking, where=f"identity.domains.{of_directories[lacking[0]]}.ldap.bind_dn",
            why="the directory has the password of its account already: a generated one would be refused",
            how="ask who runs the directory for it", value="...",
        )  # fmt: skip
    if lacking := store.lacking(one.secret for one in plan.providers):
        yield _error(
            store, lacking, where="identity.providers",
            why="the provider makes the secret of its client: it would refuse a generated one",
            how="register this cloud there as a client", value="...",
        )  # fmt: skip


def _named(machines: Sequence[str]) -> str:
    more = len(machines) - _SHOWN
    return ", ".join(machines[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _error(store: Store, lacking: Sequence[str], *, where: str, why: str, how: str, value: str) -> SecretsError:
    pairs = ", ".join(f"{name}: {value}" for name in lacking)
    return SecretsError(
        f"the secrets store has no {', '.join(lacking)}",
        where=f"{store.path}; {where} of the site file",
        why=why,
        remedy=f"{how}, then: ansible-playbook -i <site file> groundup.cloud.secrets -e @FILE, "
        f"and in FILE (ansible-vault encrypts it): secrets_given: {{{pairs}}}",
    )
