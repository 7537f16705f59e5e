"""Types of the plan's parts that need no other part's types. The rest is in `types.py`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ...module_utils._plan.preflight import PreflightRoles, PreflightSite

LinkKind = Literal["port", "bond", "bridge", "vlan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyPlan:
    """The way to the internet, for what leaves the site."""

    http: str  # "http://proxy.example.org:3128"
    https: str
    no_proxy: tuple[str, ...]  # reached past it: names, domains with a leading dot, addresses, networks
    login: str | None  # name of the secret, "user:password"
    ca: str | None  # PEM: the CA with which the proxy signs in place of servers


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessPlan:
    """Who may log in to the hosts, and how the controller logs in."""

    user: str  # account of the controller; it may become root
    authorized_keys: tuple[str, ...]  # further public keys, in addition to the site's own
    port: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkPlan:
    """One link of a host whose network the site manages. The links it is built on come before it."""

    name: str
    kind: LinkKind
    mtu: int
    mac: str | None = None  # port: found by it; bond: its first member's; None: found by name
    rename: bool = False  # port found by its MAC address: whether it is renamed to `name`
    members: tuple[str, ...] = ()  # of a bond or bridge
    mode: str | None = None  # of a bond
    lacp_rate: str | None = None
    primary: str | None = None
    vlan: int | None = None
    parent: str | None = None  # the link that carries the VLAN
    network: str | None = None  # network it carries untagged; None: a member, or carries VLANs only
    address: str | None = None  # with prefix length
    routes: tuple[tuple[str, str], ...] = ()  # destination, gateway ("": none, it is on the link itself)
    route_mtu: int | None = None  # of `network`, where the link has more for its VLANs


@dataclass(frozen=True, slots=True, kw_only=True)
class SriovPlan:
    """A network card whose virtual functions instances get."""

    card: str  # name of its port on the host
    functions: int
    physical_network: str
    mtu: int


@dataclass(frozen=True, kw_only=True)
class PreflightPlan(PreflightSite):
    """What preflight expects of all hosts, beside each host's own plan."""

    hardware: dict[str, dict[str, Any]]  # hardware profiles in use, by name
    by_roles: dict[str, PreflightRoles]  # roles joined by "+"
    monitoring_listens: dict[str, tuple[str, ...]]  # as in `PreflightRoles`; of the monitoring host beside its roles'


@dataclass(frozen=True, slots=True, kw_only=True)
class LeafPlan:
    """One rack's segment of the provisioning network. Its leaf switch relays DHCP to the seed."""

    rack: str
    cidr: str
    gateway: str  # the leaf's address
    pool: tuple[str, str] | None  # as `NetbootPlan.pool`


@dataclass(frozen=True, slots=True, kw_only=True)
class NetbootPlan:
    """Settings of network boot."""

    programs: str  # file with dnsmasq and iPXE, below files_url
    plane: str  # the whole network
    cidr: str  # segment of the seed
    gateway: str | None
    leaves: tuple[LeafPlan, ...]  # segments of other racks
    address: str  # of the seed on the provisioning network
    seed_address: str  # of the seed, where ramdisks call it
    port: int
    url: str
    pool: tuple[str, str] | None  # first and last address for unknown machines; None: they get no answer


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerPlan:
    """What the seed runs on machines that have called home after installation."""

    release: str  # of ansible-core
    environment: str  # its file below files_url
    layers: tuple[str, ...]
    source: str  # source address of its ssh logins


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Plan:
    """A bucket for copies of backup sets."""

    endpoint: str
    bucket: str
    prefix: str  # of a site's sets: "groundup/cloud/"
    region: str
    access_key: str  # name in the secrets store
    secret_key: str  # name in the secrets store


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupPlan:
    """How long backup sets stay, and when they are made."""

    keep: int = 14  # 0: all
    keep_days: int = 0  # 0: without limit
    schedule: str | None = None  # OnCalendar of a systemd timer; None: no timer
    password_file: str | None = None  # for the timer; None: that of the run that makes it
    s3: S3Plan | None = None
    logs_every: int = 0  # seconds between two copies of MariaDB's binary logs; 0: none


@dataclass(frozen=True, slots=True, kw_only=True)
class FailurePlan:
    """What is done about a hypervisor that died."""

    action: Literal["tell", "evacuate"]
    after: int  # seconds of silence
    instances: Literal["stay", "start"] = "stay"  # whose QEMU ended by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class LogsPlan:
    """Where logs are kept, and how they get there."""

    url: str  # what hosts write to
    retention_days: int
    max_gib: int
    programs: str  # directory of VictoriaLogs' programs, below files_url


@dataclass(frozen=True, slots=True, kw_only=True)
class MailPlan:
    """How alerts are mailed."""

    to: tuple[str, ...]
    sender: str
    smarthost: str  # host:port
    username: str | None  # None: no login
    require_tls: bool
    secret: str | None  # name of the password, which is given; None: no login


@dataclass(frozen=True, slots=True, kw_only=True)
class PagerdutyPlan:
    """Where critical alerts page somebody."""

    url: str | None  # None: PagerDuty's own
    secret: str  # name of its key, which is given


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityPlan:
    """When the cloud is asked for its room, and when that is told to be full."""

    schedule: str  # OnCalendar of a systemd timer
    percent: int  # in use
    days: int  # ahead


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteWritePlan:
    """Another store that gets all metrics."""

    url: str
    username: str | None  # None: ``secret`` is a token
    secret: str | None  # its name in the secrets store; None: no login


@dataclass(frozen=True, slots=True, kw_only=True)
class HealPlan:
    """What is mended by itself."""

    layers: tuple[str, ...]
    window: str  # begin and end, HH:MM-HH:MM in UTC


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoringPlan:
    """Where metrics are kept, and who gets alerts."""

    host: str  # machine that scrapes and alerts; "": none, which is a finding
    interval: int  # seconds between scrapes
    retention_days: int
    webhook: str | None  # gets all alerts
    pagerduty: PagerdutyPlan | None
    mail: MailPlan | None
    drift: str | None  # OnCalendar of the timer that compares the site with its file; None: no timer
    programs: str  # directory of VictoriaMetrics' programs, below files_url
    logs: LogsPlan | None = None  # None: the site keeps none
    capacity: CapacityPlan | None = None  # None: no timer asks
    remote_write: RemoteWritePlan | None = None  # None: metrics stay on the host
    heal: HealPlan | None = None  # None: nothing is mended by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class MetalPlan:
    """Settings for installing machines from power-off."""

    release: str  # of Ironic
    environment: str  # its file below files_url
    ramdisk: str  # directory of the deploy ramdisk, below files_url
    image: str  # file of the operating system, below files_url
    files_url: str  # the file tree by the seed's IP: ramdisks and the seed itself resolve no names yet
    api_url: str
    api_inside: int
    media_url: str
    contact_inside: int
    netboot: NetbootPlan | None  # None: no machine boots from the network
    machines_inside: int
    runner: RunnerPlan | None  # None: the controller configures machines


@dataclass(frozen=True, slots=True, kw_only=True)
class RolePlan:
    """A role of a group on a project, made if missing, or on a domain."""

    group: str
    role: str
    project: str | None  # None: on the domain itself
    domain: str  # of the project, or itself


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourcePlan:
    """Something in the cloud, in the form of its API; `{"$id": kind, "name": name}` stands for another one's id."""

    kind: str
    name: str
    key: str  # in the site file
    place: str  # project that owns it; "": the administrator's, or nobody's
    domain: str  # of the project, or its own; "": in no domain
    values: dict[str, Any]  # fields of the API
    parts: dict[str, Any]  # what has calls of its own: rules, extra specs, quotas, ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LdapPlan:
    """A domain of Keystone whose users and groups are a directory's."""

    options: dict[str, Any]  # Keystone's section [ldap], without the password
    secret: str | None  # name of the bind account's password; None: anonymous
    ca: str | None  # PEM; None: public CAs
    roles: tuple[RolePlan, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityProviderPlan:
    """A provider of logins (OpenID Connect)."""

    name: str  # of the provider in Keystone's URLs
    label: str
    domain: str  # of its users and groups
    issuer: str
    client_id: str
    secret: str  # name of the client's secret, which is given
    scopes: tuple[str, ...]
    ca: str | None  # PEM; None: the image's public CAs
    bearer: bool  # whether access tokens are logins, too
    hosts: tuple[str, ...]  # origins that a browser passes on its way to the login form
    groups: dict[str, bool]  # groups of Keystone that its users are in -> whether they are made if missing
    roles: tuple[RolePlan, ...]
    rules: tuple[dict[str, Any], ...]  # of Keystone's mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginPlan:
    """Rules for tokens and for the passwords of Keystone's own users."""

    token_life: int  # seconds
    compliance: dict[str, Any]  # Keystone's options of that section


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityPlan:
    """Who logs in to the cloud, and by which rules."""

    logins: LoginPlan
    domains: dict[str, LdapPlan]
    providers: tuple[IdentityProviderPlan, ...]
    roles: dict[str, tuple[RolePlan, ...]] = field(default_factory=dict)  # of `cloud:`, by domain of the group
