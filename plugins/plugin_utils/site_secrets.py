"""The secrets and certificates that a site needs: create what is missing, or remove them with the site's state."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import site_identity
from .compose import with_values
from .layers.authorities import key_name, needed
from .paths import state_dir
from .pki import anew, ensure_authority, ensure_bundle, ensure_leaf, ensure_packages_key, users
from .plan.findings.certificates import CERTIFICATE
from .plan.types import Plan
from .site_certificate import settle
from .site_proxy import LOGIN_FORM, NOBODY, given_login
from .vault import STORE, SecretsError, Store, open_store, password_source, required
from .vault.given import giving
from .vault.names import EDGE_KEY

_SHOWN = 8  # machines of an error


def create(plan: Plan, given: Mapping[str, str], *, write: bool, replace: Collection[str] = ()) -> dict[str, Any]:
    """Create missing secrets, all but those of ``given`` generated, and certificates; return the step's result.

    ``replace``: given ones that take the place of those the store has. Raises GroundupError, OSError.
    """
    plan, directory = with_values(plan), state_dir(plan.site)
    store, specs = open_store(plan.site, write=write), users(plan)
    _refuse_replacing(plan, given, replace)
    given, unused = settle(plan, store, given)  # before anything is changed
    taken = store.take(given, replacing=[EDGE_KEY, *replace])
    _refuse_lacking(plan, store)
    for field, name in _logins(plan).items():
        given_login(store, name, key=field)
    _refuse_no_words(plan, store)
    uses = needed(monitoring=plan.monitoring is not None, known=store.names())
    created = store.ensure({*required(plan), *map(key_name, uses), *(spec.key_name for spec in specs)})
    created += anew.new_keys(store, directory, specs)
    signing = {use: ensure_authority(store, directory, site=plan.site, use=use, write=write) for use in uses}
    reasons = {"ca" if use == "site" else f"ca of {use}": one.reason for use, one in signing.items()} | {
        spec.user: ensure_leaf(signing[spec.authority], store, directory, spec, write=write).reason for spec in specs
    }
    reasons["bundle of CAs"] = ensure_bundle(plan, signing["site"], write=write)
    if plan.host.packages == "seed":
        reasons["packages"] = ensure_packages_key(store, directory, write=write)
    issued = {name: why for name, why in reasons.items() if why}
    names = sorted({*taken, *created})
    after = [f"secret {name}" for name in names] + [f"certificate {name}: {why}" for name, why in issued.items()]
    gone = [f"secret {name}" for name in store.forget(unused)]
    return {
        "changed": bool(after or gone),
        "created": names,
        "issued": issued,
        "store": store.identity,
        "msg": _said(after, gone, write=write),
        "diff": {"before": "".join(f"{line}\n" for line in gone), "after": "".join(f"{line}\n" for line in after)},
    }


def _said(made: Sequence[str], removed: Sequence[str], *, write: bool) -> str:
    verbs = {"made": made, "removed": removed}
    said = [f"{verb if write else f'would be {verb}'}: {', '.join(names)}" for verb, names in verbs.items() if names]
    return "; ".join(said) or "everything is there"


def remove(plan: Plan, *, write: bool, keep: bool, force: Collection[str]) -> dict[str, Any]:
    """Remove a lab's state and password, or move the state aside; return the result. Raises GroundupError, OSError."""
    lab, directory = site_identity.refuse_removal(plan, force), state_dir(plan.site)
    if keep or site_identity.of_plan(plan).machines:
        return {"changed": False, "msg": f"{directory} stays"}
    there, said = site_identity.there(plan), f"{directory} is removed"
    if there and write and (aside := site_identity.remove(plan, lab=lab)):
        said = f"{directory} is moved to {aside}; its password stays"
    # Last, because a store needs its password as long as it exists: one that was moved aside, too.
    source = password_source(plan.site)
    gone = lab and source.forget(directory / STORE, write=write)
    if lab and source.ours and source.path.exists() and (others := source.others(directory / STORE)):
        said += f"; its password {source.path} stays: it may open {', '.join(others)}"
    return {"changed": there or gone, "msg": said if there else f"there is no {directory}"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Given:
    """Secrets that somebody else made, and who asks for them."""

    names: Collection[str]
    where: str  # field of the site file
    why: str  # not generated
    how: str  # to get one
    value: str  # what one looks like


def _kinds(plan: Plan) -> Iterator[_Given]:
    """Yield the secrets of the plan that are never generated."""
    if plan.edge.certificate:
        yield _Given(
            names=[EDGE_KEY], where=CERTIFICATE, why="HAProxy serves no certificate without its key",
            how="take the key that the certificate was issued for", value="...",
        )  # fmt: skip
    if plan.ceph:
        yield _Given(
            names=plan.ceph.given, where="storage.external",
            why="the keys of a Ceph that somebody else runs are made there: a generated one would be refused",
            how="ask who runs it for them (`ceph auth get-key <user>`)", value="AQ...",
        )  # fmt: skip
    of_bmcs: dict[str, list[str]] = {}
    for host in plan.hosts.values():
        if host.bmc and plan.metal and plan.profile != "lab":
            of_bmcs.setdefault(str(host.bmc["credentials"]), []).append(host.name)
    for name, machines in of_bmcs.items():
        yield _Given(
            names=[name], where=f"machines.<group>.bmc.credentials ({name}: {_named(machines)})",
            why="BMCs have their passwords already: tries with a generated one lock the account out",
            how="correct credentials if a name is mistyped, else look the passwords up", value="...",
        )  # fmt: skip
    for domain, one in plan.identity.domains.items():
        if one.secret:
            yield _Given(
                names=[one.secret], where=f"identity.domains.{domain}.ldap.bind_dn",
                why="the directory has the password of its account already: a generated one would be refused",
                how="ask who runs the directory for it", value="...",
            )  # fmt: skip
    for provider in plan.identity.providers:
        yield _Given(
            names=[provider.secret], where=f"identity.providers.{provider.name}",
            why="the provider makes the secret of its client: it would refuse a generated one",
            how="register this cloud there as a client", value="...",
        )  # fmt: skip
    pager, mail = (plan.monitoring.pagerduty, plan.monitoring.mail) if plan.monitoring else (None, None)
    if pager:
        yield _Given(
            names=[pager.secret], where="monitoring.pagerduty",
            why="PagerDuty makes the key of its service: events with a generated one would be refused",
            how="add an integration (Events API v2) to a service there", value="...",
        )  # fmt: skip
    if mail and mail.secret:
        yield _Given(
            names=[mail.secret], where="monitoring.mail.username",
            why="the mail server has the password of its account already: a generated one would be refused",
            how="ask who runs it for it", value="...",
        )  # fmt: skip
    remote = plan.monitoring.remote_write if plan.monitoring else None
    if remote and remote.secret:
        yield _Given(
            names=[remote.secret], where="monitoring.remote_write",
            why="the store of somebody else has that login already: a generated one would be refused",
            how="ask who runs it for it", value="...",
        )  # fmt: skip
    for key, login in _logins(plan).items():
        yield _Given(names=[login], where=key, why=NOBODY, how="ask who runs it for a login", value=LOGIN_FORM)


def never_generated(plan: Plan) -> frozenset[str]:
    """Return the names of secrets that somebody else makes: a new value of theirs is theirs to say."""
    return frozenset(name for one in _kinds(plan) for name in one.names)


def _refuse_replacing(plan: Plan, given: Mapping[str, str], replace: Collection[str]) -> None:
    """Raise SecretsError for a name that is not given, or whose value this site has generated."""
    if wrong := sorted(set(replace) - (never_generated(plan) & set(given))):
        raise SecretsError(
            f"{', '.join(wrong)} cannot be replaced",
            where="the variable secrets_replace",
            why="only what somebody else made, and secrets_given has anew, may change: databases and services go on "
            "with generated values",
            remedy="write the new value into secrets_given; leave out what is generated",
        )


def _logins(plan: Plan) -> dict[str, str]:
    """Return the secrets that are user:password, by the field that asks for them."""
    found = {"proxy.login": plan.proxy and plan.proxy.login, "supply.registry_login": plan.supply.registry_login}
    return {key: name for key, name in found.items() if name}


def _refuse_lacking(plan: Plan, store: Store) -> None:
    """Raise SecretsError for what is to be given and the store lacks: everything in one error."""
    lacking = {name: one for one in _kinds(plan) for name in store.lacking(one.names)}
    if not lacking:
        return

    def each(part: Callable[[_Given], str]) -> str:
        return "; ".join(dict.fromkeys(map(part, lacking.values())))

    raise SecretsError(
        f"the secrets store has no {', '.join(lacking)}",
        where=f"{store.path}; {each(lambda one: one.where)} of the site file",
        why=each(lambda one: one.why),
        remedy=f"{each(lambda one: one.how)}, then: {giving({name: one.value for name, one in lacking.items()})}",
    )


def _refuse_no_words(plan: Plan, store: Store) -> None:
    """Raise SecretsError for a client's secret that Apache would read as something else, or not start with."""
    for one in plan.identity.providers:
        value = store.get(one.secret)
        if not value.isprintable() or "${" in value:
            raise SecretsError(
                f"{one.secret} has a line end, another control character, or ${{",
                where=f"{store.path}; identity.providers.{one.name} of the site file",
                why="it is a word of Apache's configuration: Keystone would not start, or log nobody in",
                remedy=f"have the provider make another one, and write it with ansible-vault edit {store.path}",
            )


def _named(machines: Sequence[str]) -> str:
    more = len(machines) - _SHOWN
    return ", ".join(machines[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
