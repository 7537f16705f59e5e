"""Define the record of a service: all facts that other parts of the collection read.

Records import nothing of the plan, the rollout or a client library: an inventory listing loads all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ..health.context import Verifier
    from ..layers.authorities import Use
    from ..layers.roles import Role
    from ..layers.scales import Scale
    from ..plan.types import Plan
    from .sizes import Sizes

Facility = Literal["database", "queue", "cache"]
Values = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicApi:
    """A public API, ``https://<host>.<domain><path>``, and the Service behind it."""

    type: str  # in the catalog; with "_" for "-" its key under the charts' `endpoints`
    official: str = ""  # what clients ask for first, where `type` is an older name: both are in the catalog
    host: str
    path: str = ""
    health: str = "/"
    port: int  # of the Service, or of the serving hosts
    node_port: int = 0  # the chart's own default
    role: Role | None = None  # role of the hosts that serve it directly, with TLS; None: the cluster serves it
    backend: str = ""  # name of the Service; "": <service>-api
    port_name: str = "api"  # the port's key under the charts' endpoint
    in_catalog: bool = True
    for_hosts: bool = False  # for the site's own hosts: the edge refuses all others
    for_operators: bool = False  # for these and `edge.operators`, where the site file names them


@dataclass(frozen=True, slots=True, kw_only=True)
class PodCertificate:
    """A certificate of one of the site's CAs for pods: a Secret with tls.crt, tls.key and ca.crt."""

    user: str  # name of the certificate at its CA
    secret: str  # name of the Secret
    usage: Literal["server", "client", "both"]
    names: tuple[str, ...] = ()  # of a server: the names its clients use
    authority: Use = "site"  # that signs it
    believes: Use = "site"  # whose certificate ca.crt is


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """Members of a cluster, as they say it themselves."""

    versions: Mapping[str, str] = field(default_factory=dict)  # by member
    silent: tuple[str, ...] = ()  # members whose version is not known, and why
    disabled: tuple[str, ...] = ()  # stable feature flags of RabbitMQ

    def of(self, wanted: int) -> Servers:
        """Return them with those that are missing of ``wanted``."""
        lost = wanted - len(self.versions) - len(self.silent)
        return replace(self, silent=(*self.silent, f"{lost} have no pod")) if lost > 0 else self


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """A finding about a service, reported if ``when`` is true. ``{profile}`` in ``what`` is replaced by the site's."""

    name: str
    severity: Literal["error", "warning"] = "warning"
    when: Callable[[Plan, Sizes], bool]
    production: bool = False  # only in sites with a production profile
    where: str = "openstack.services"
    what: str
    why: str
    remedy: str


CLIENT = "openstack-client"  # an image: what a job asks by may be of another release


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceRecord:
    """An OpenStack service, or infrastructure that services share."""

    name: str  # of the release, its chart, its accounts and, without `databases`, its database
    instead_of: str = ""  # the project whose API it offers; a site file may use that name
    title: str = ""  # if not the capitalised name
    kind: Literal["infrastructure", "service"] = "service"

    needs: tuple[str, ...] = ()  # services it calls
    uses: tuple[Facility, ...] = ()  # infrastructure it has an account with, and waits for
    optional: tuple[Facility, ...] = ()  # infrastructure it has an account with, without waiting for it
    nobody_at: tuple[str, ...] = ()  # services of these where it has no account and acts as its users
    provides: Facility | None = None
    client_ports: tuple[int, ...] = ()  # TCP ports that only its clients reach, beside its APIs
    data: tuple[str, ...] = ()  # values that say where its data are, beside databases and the site's Ceph
    databases: Mapping[str, str] = field(default_factory=dict)  # the charts' endpoint -> schema; {}: oslo_db, its name
    accounts: Mapping[str, str] = field(default_factory=dict)  # further accounts in Keystone: key in charts -> purpose
    roles: Mapping[str, str] = field(default_factory=dict)  # of an account that needs other roles than `service`
    unmet: tuple[str, str] = ("service-without-its-needs", "it would come up and fail every request")  # finding, why

    api: PublicApi | None = None
    more_apis: tuple[PublicApi, ...] = ()  # further public names, not in the catalog
    images: Mapping[str, str] = field(default_factory=dict)  # tag in the chart -> image of the lock
    secrets: Mapping[str, str] = field(default_factory=dict)  # name -> description; accounts with others are added
    certificates: Callable[[Plan], tuple[PodCertificate, ...]] = lambda _: ()  # of the site's CA, for its pods
    client_images: Mapping[str, str] = field(default_factory=dict)  # of the jobs for it in its clients' charts
    client_account: tuple[str, str] | None = None  # each client's account: suffix of the secret's name, description
    shares: tuple[tuple[str, str, str], ...] = ()  # own value, other release, its value: both must be equal

    members: str = ""  # unit of `openstack.replicas.<name>`; "": pods of its API, or none
    workers: Mapping[Scale, int] = field(default_factory=dict)  # by scale: processes of each pod
    slowness: float = 1.0  # factor on the rollout's start_timeout
    runs_on: tuple[Role, str] | None = None  # role whose hosts it needs, and why
    layer: str = ""  # layer that its pods need to start
    plans_for: Role | None = None  # role whose networks are planned for it, even without hosts
    quorum: str = ""  # name of what needs a majority of members: an odd number, on separate hosts; "": none
    advice: tuple[Advice, ...] = ()
    inspect: str = ""  # next command when clients fail; NAMESPACE is replaced by the release's

    # Endpoint values for a client's chart, by the client's name, or with "" for its own.
    endpoints: Callable[[Plan, Sizes, str], Values] | None = None
    values: Callable[[Plan, Sizes], Values]
    # Translates our values for an older chart, recognised by its default values.
    dialect: Callable[[Values, Mapping[str, Any]], Values] | None = None
    verify: Verifier | None = None  # None: running workloads are enough

    @property
    def schemas(self) -> Mapping[str, str]:
        """Schemas, by the charts' name of their endpoint; {} without a database."""
        used = "database" in (*self.uses, *self.optional)
        return self.databases or ({"oslo_db": self.name} if used else {})

    @property
    def apis(self) -> tuple[PublicApi, ...]:
        """All its public APIs, that of the catalog first."""
        return (self.api, *self.more_apis) if self.api else ()

    @property
    def of_openstack(self) -> bool:
        """Whether its pods run images of OpenStack itself, whose tags tell the release."""
        return any(name.startswith("openstack") and name != CLIENT for name in self.images.values())

    @property
    def label(self) -> str:
        """Its display name."""
        return self.title or self.name.capitalize()
