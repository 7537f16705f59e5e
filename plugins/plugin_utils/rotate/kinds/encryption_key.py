"""The key of Kubernetes' Secrets at rest, and `kubernetes.encrypt_secrets` turned on in a running cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ....module_utils._base.consent import Reason
from ...errors import GroundupError
from ...kube.access import kubeconfig_path
from ...kube.client import Api
from ...kube.types import resource_path
from ...rollout.session import claim
from ...vault import rotation
from ...vault.names import ENCRYPTION_KEY
from .. import at_rest
from ..at_rest import CLEAR, HostKeys, SecretsKeys
from ..base import PHASES, Foreseen, Kind

Orders = dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyUse:
    """Who uses which keys."""

    keys: SecretsKeys
    hosts: Mapping[str, HostKeys]
    silent: tuple[str, ...]  # control hosts that said nothing
    stored: Mapping[str, int]  # Secrets in etcd, by the key that has written them

    @property
    def done(self) -> bool:
        """Return whether one key alone is used, and nothing was written otherwise."""
        wanted = at_rest.alone(self.keys, self.hosts)
        return not (self.keys.open or at_rest.behind(wanted, self.hosts) or set(self.stored) - {self.keys.target})

    def refuse_early(self, wanted: Orders, what: str) -> None:
        """Raise GroundupError for hosts that do not use the ``wanted`` keys."""
        if late := at_rest.behind(wanted, self.hosts):
            raise GroundupError(
                f"{', '.join(late)} {what} the new key yet", where="layer kubernetes: kube-apiserver of these hosts",
                why="they could not read what the others write with it", remedy="run this again: it restarts them",
            )  # fmt: skip


class AtRest(Kind[KeyUse]):
    """Three restarts of every API server, one host at a time, and every Secret written anew before the last."""

    name = "encryption-key"
    loses = "an API server without the key that a Secret was written with cannot read it"
    orders: Orders

    def survey(self) -> KeyUse:
        """Return what the control hosts said, and the store's keys."""
        said, plan = self.asked.seen, self.asked.plan
        control = sorted(name for name, host in plan.hosts.items() if "control" in host.roles)
        hosts = {
            name: HostKeys(order=tuple(said[name]["order"]), restarts=said[name]["restarts"])
            for name in control
            if said.get(name, {}).get("order")
        }
        found: Counter[str] = Counter()
        for name in hosts:
            found |= Counter(said[name]["stored"])  # all are members of one etcd
        self.orders = {}
        silent = tuple(name for name in control if name not in hosts)
        return KeyUse(keys=SecretsKeys.of(self.asked.store), hosts=hosts, silent=silent, stored=found)

    def reasons(self, state: KeyUse) -> Iterable[Reason]:
        """Return why not."""
        if not self.asked.plan.kubernetes.encrypt_secrets:
            yield Reason(text="kubernetes.encrypt_secrets is false: Secrets have no key")
        if state.silent:
            yield Reason(text=f"control hosts do not answer, or are no members yet: {', '.join(state.silent)}")

    def foresee(self, state: KeyUse) -> Foreseen:
        """Return what restarts, and how many Secrets are written."""
        begun = not state.done
        what = "goes on" if begun and state.keys.open else "is turned on" if begun else "a new one takes its place"
        lines = [f"key of Secrets at rest: {what}"]
        lines += [
            f"{name}, kube-apiserver restarts up to three times (uses {', '.join(one.order)})"
            for name, one in sorted(state.hosts.items())
        ]
        number = sum(state.stored.values())
        lines.append(f"Secrets that are written anew, none changes: {number}")
        return Foreseen(lines=lines, open=begun, layers=PHASES)

    def both(self, state: KeyUse) -> None:
        """Make a key, unless a rotation is open; all hosts are to read it."""
        if state.done:
            at_rest.begin(self.asked.store)
            self.asked.changes.add("make another key of Secrets at rest")
        self.orders = at_rest.read_by_all(SecretsKeys.of(self.asked.store), state.hosts)

    def use(self, state: KeyUse) -> None:
        """All hosts are to write with it, now that all read it. Raises GroundupError while one does not."""
        state.refuse_early(at_rest.read_by_all(state.keys, state.hosts), "does not read")
        if state.keys.following:
            rotation.swap(self.asked.store, [ENCRYPTION_KEY])
            self.asked.changes.add("keep the new key as the site's")
        self._claim()
        self.orders = at_rest.written_by_all(SecretsKeys.of(self.asked.store), state.hosts)

    def drop(self, state: KeyUse) -> None:
        """Write every Secret anew, then all hosts are to forget the old. Raises GroundupError, ApiError."""
        state.refuse_early(at_rest.written_by_all(state.keys, state.hosts), "does not write with")
        if not state.done:
            number = at_rest.rewrite(self.api)
            self.asked.changes.add(f"write {number} Secrets anew")
            rotation.end(self.asked.store, ENCRYPTION_KEY)
        self.orders = at_rest.alone(state.keys, state.hosts)

    def remains(self, state: KeyUse) -> list[str]:
        """Return what is missing."""
        wanted = at_rest.alone(state.keys, state.hosts)
        left = [f"{name} said nothing" for name in state.silent]
        left += [f"{name} uses {', '.join(state.hosts[name].order)}" for name in at_rest.behind(wanted, state.hosts)]
        other = {key: number for key, number in state.stored.items() if key != state.keys.target}
        left += [f"{number} Secrets are {_written(key)}" for key, number in sorted(other.items())]
        return left + (["the store has a second key"] if state.keys.open else [])

    def run(self, step: str) -> dict[str, Any]:
        """Do ``step``; return with its result the order of keys that each host is to use."""
        done = super().run(step)
        return {**done, "orders": {name: list(order) for name, order in self.orders.items()}}

    @property
    def api(self) -> Api:
        """Return the site's API."""
        return Api(kubeconfig_path(self.asked.plan.site))

    def _claim(self) -> None:
        """Tell the cluster that the store's key is another one by right, if it knows the store."""
        plan, api = self.asked.plan, self.api
        if api.find(resource_path("v1", "namespaces", name=plan.openstack.namespace)):
            claim(api, plan, self.asked.store, write=True)


def _written(key: str) -> str:
    return "in clear text" if key == CLEAR else f"written with {key}"


KIND = AtRest
