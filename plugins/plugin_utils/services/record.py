"""The record of a service: every fact about it that another part of the collection reads.

Records import nothing of the plan, the rollout or a client library: an inventory listing reads all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from .verification import Verifier

if TYPE_CHECKING:
    from ..layers.roles import Role
    from ..plan.types import Plan
    from .sizes import Sizes

Facility = Literal["database", "queue", "cache"]
Values = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicApi:
    """A public API, ``https://<host>.<domain><path>``, and the Service behind it."""

    type: str  # in the catalog; with "_" for "-" its key under the charts' `endpoints`
    host: str
    path: str = ""
    health: str = "/"
    port: int  # of the Service, or of the hosts that serve it
    node_port: int = 0  # the chart's own default
    role: Role | None = None  # whose hosts serve it themselves, with TLS; None: the cluster does
    backend: str = ""  # name of the Service; "": <service>-api
    port_name: str = "api"  # the port's key under the charts' endpoint
    in_catalog: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class PodCertificate:
    """A certificate of the site's CA that pods are given: as a Secret with tls.crt, tls.key and ca.crt."""

    user: str  # of the authority
    secret: str  # name of the Secret
    usage: Literal["server", "client"]
    names: tuple[str, ...] = ()  # of a server: what its clients call it


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """A finding about one service, where ``when`` is true. ``{profile}`` in ``what`` is the site's."""

    name: str
    severity: Literal["error", "warning"] = "warning"
    when: Callable[[Plan, Sizes], bool]
    production: bool = False  # only in sites of a profile for production
    where: str = "openstack.services"
    what: str
    why: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceRecord:
    """One OpenStack service, or a piece of infrastructure that services share."""

    name: str  # of the release, its chart, its accounts and, unless `databases` says otherwise, its database
    instead_of: str = ""  # the project whose API it offers and whose name a site file may have
    title: str = ""  # where it is not the name with a capital letter
    kind: Literal["infrastructure", "service"] = "service"

    needs: tuple[str, ...] = ()  # services it calls
    uses: tuple[Facility, ...] = ()  # infrastructure it starts after and has an account with
    optional: tuple[Facility, ...] = ()  # infrastructure it has an account with and does not wait for
    nobody_at: tuple[str, ...] = ()  # of these, others where it has no account: it has its users' own there
    provides: Facility | None = None
    databases: Mapping[str, str] = field(default_factory=dict)  # the charts' endpoint -> schema; {}: oslo_db, its name
    accounts: Mapping[str, str] = field(default_factory=dict)  # more of its own in Keystone: key in charts -> what for
    unmet: tuple[str, str] = ("service-without-its-needs", "it would come up and fail every request")  # finding, why

    api: PublicApi | None = None
    more_apis: tuple[PublicApi, ...] = ()  # more public names, none in the catalog
    images: Mapping[str, str] = field(default_factory=dict)  # tag in the chart -> image of the lock
    secrets: Mapping[str, str] = field(default_factory=dict)  # name -> what it is; accounts with others follow
    certificates: Callable[[Plan], tuple[PodCertificate, ...]] = lambda _: ()  # of the site's CA, for its pods
    client_images: Mapping[str, str] = field(default_factory=dict)  # of the jobs its clients' charts have for it
    client_account: tuple[str, str] | None = None  # what each client has here: end of the secret's name, description
    shares: tuple[tuple[str, str, str], ...] = ()  # own value, other release, its value: must be the same

    members: str = ""  # what `openstack.replicas.<name>` counts; "": pods of its API, or nothing
    workers: Mapping[str, int] = field(default_factory=dict)  # by profile: processes of each pod
    slowness: float = 1.0  # how much longer than others it may take to start: factor on the rollout's start_timeout
    runs_on: tuple[Role, str] | None = None  # role without whose hosts it is useless, and why
    layer: str = ""  # without which its pods never start
    plans_for: Role | None = None  # role whose networks are planned for it, before there is a host
    quorum: str = ""  # what needs a majority of them: an odd number, on hosts of their own; "": nothing does
    advice: tuple[Advice, ...] = ()
    inspect: str = ""  # the next command when others cannot use it; NAMESPACE stands for the release's

    # What a chart is told of this service: a client's, by its name, and with "" its own.
    endpoints: Callable[[Plan, Sizes, str], Values] | None = None
    values: Callable[[Plan, Sizes], Values]
    # Our values as a chart of an earlier date spells them; its own default values tell which it is.
    dialect: Callable[[Values, Mapping[str, Any]], Values] | None = None
    verify: Verifier | None = None  # None: that its workloads run is enough

    @property
    def schemas(self) -> Mapping[str, str]:
        """Return its schemas by the charts' name of their endpoint; {} without a database."""
        used = "database" in (*self.uses, *self.optional)
        return self.databases or ({"oslo_db": self.name} if used else {})

    @property
    def apis(self) -> tuple[PublicApi, ...]:
        """Return everything it offers under public names, the API of the catalog first."""
        return (self.api, *self.more_apis) if self.api else ()

    @property
    def label(self) -> str:
        """Return its name as people write it."""
        return self.title or self.name.capitalize()
