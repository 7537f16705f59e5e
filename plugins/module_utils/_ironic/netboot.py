"""Configuration of network boot: dnsmasq for addresses, names and iPXE, chronyd for time, nginx for boot files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

from .._base import files
from . import configuration as own

ACCOUNT = "groundup-netboot"  # not Ironic's, which has passwords: this one serves untrusted machines
PROGRAMS = Path("/opt/groundup/netboot")
DIRECTORY = Path("/etc/groundup-netboot")
CONF, HOSTS = DIRECTORY / "dnsmasq.conf", DIRECTORY / "hosts"
NAMES, CLOCK = DIRECTORY / "names", DIRECTORY / "chrony.conf"
STATE = Path("/var/lib/groundup-netboot")  # leases
UNIT = Path("/etc/systemd/system/groundup-netboot.service")
CLOCK_UNIT = Path("/etc/systemd/system/groundup-time.service")
WEB = Path("/etc/nginx/conf.d/groundup-netboot.conf")
SCRIPTS = own.MEDIA / "groundup"

CONF_TEXT = """\
interface=%(interface)s
%(without)sbind-dynamic
# Names of the site, and others where it names resolvers; nobody else's.
no-resolv
no-hosts
domain-needed
bogus-priv
local=/%(domain)s/
addn-hosts=%(names_file)s
%(resolvers)sno-ping
dhcp-authoritative
dhcp-leasefile=%(leases)s
dhcp-hostsfile=%(hosts)s
log-dhcp
# Machines of the site have their planned address; others are lent one.
dhcp-range=%(network)s,static,%(netmask)s,1h
%(unknown)s
%(leaves)s# The seed's address that ramdisks call is on another network; the seed itself answers there.
dhcp-option=option:router%(router)s
%(routes)sdhcp-option=option:dns-server,%(address)s
dhcp-option=option:ntp-server,%(address)s
dhcp-option=option:domain-name,%(domain)s
enable-tftp
tftp-root=%(programs)s
# A firmware asks for iPXE, iPXE for a script.
dhcp-match=set:ipxe,175
dhcp-match=set:efi,option:client-arch,7
dhcp-match=set:efi,option:client-arch,9
dhcp-boot=tag:!ipxe,tag:efi,snponly.efi
dhcp-boot=tag:!ipxe,tag:!efi,undionly.kpxe
dhcp-boot=tag:ipxe,tag:known,%(url)s/groundup/known.ipxe
dhcp-boot=tag:ipxe,tag:!known,%(url)s/groundup/unknown.ipxe
"""

# Another service sets the host's clock. This chronyd serves the time, corrected where the site file names servers.
CLOCK_TEXT = """\
%(time_servers)slocal stratum 10
bindaddress %(address)s
allow %(plane)s
cmdport 0
bindcmdaddress /
pidfile /
"""

_SANDBOX = """\
NoNewPrivileges=true
ProtectSystem=strict
ProtectHome=true
PrivateTmp=true
PrivateDevices=true
ProtectKernelModules=true
ProtectKernelTunables=true
ProtectControlGroups=true
RestrictSUIDSGID=true
"""

# A rack behind a router, which relays its DHCP requests. All routes of its machines lead through that router.
_LEAF_TEXT = """\
dhcp-range=set:leaf-%(rack)s,%(network)s,static,%(netmask)s,1h
%(lent)sdhcp-option=tag:leaf-%(rack)s,option:router,%(gateway)s
dhcp-option=tag:leaf-%(rack)s,option:classless-static-route,0.0.0.0/0,%(gateway)s
"""

UNIT_TEXT = """\
[Unit]
Description=DHCP, TFTP and DNS for the network provisioning
Wants=network-online.target
After=network-online.target

[Service]
User=%(account)s
Group=%(account)s
Environment=LD_LIBRARY_PATH=%(programs)s/lib
ExecStart=%(programs)s/dnsmasq --keep-in-foreground --log-facility=- --conf-file=%(conf)s --user=%(account)s --group=%(account)s
Restart=on-failure
RestartSec=5
AmbientCapabilities=CAP_NET_ADMIN CAP_NET_BIND_SERVICE CAP_NET_RAW
CapabilityBoundingSet=CAP_NET_ADMIN CAP_NET_BIND_SERVICE CAP_NET_RAW
StateDirectory=groundup-netboot
%(sandbox)sRestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK AF_PACKET AF_UNIX
InaccessiblePaths=-%(ironic)s -/etc/ironic

[Install]
WantedBy=multi-user.target
"""  # noqa: E501  # one command

CLOCK_UNIT_TEXT = """\
[Unit]
Description=Time for the network provisioning
Wants=network-online.target
After=network-online.target

[Service]
User=%(account)s
Group=%(account)s
Environment=LD_LIBRARY_PATH=%(programs)s/lib
ExecStart=%(programs)s/chronyd -d -x -U -u %(account)s -f %(clock)s
Restart=on-failure
RestartSec=5
AmbientCapabilities=CAP_NET_BIND_SERVICE
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
%(sandbox)sRestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
InaccessiblePaths=-%(ironic)s -/etc/ironic

[Install]
WantedBy=multi-user.target
"""

# iPXE of a machine of the site: boot what Ironic has prepared for it, else its disk.
KNOWN_TEXT = """\
#!ipxe
chain %(url)s/pxelinux.cfg/${net0/mac:hexhyp} || chain %(url)s/pxelinux.cfg/${mac:hexhyp} || exit 0
"""

# iPXE of any other machine: boot what Ironic has prepared once it was matched, else the ramdisk that reports it.
UNKNOWN_TEXT = """\
#!ipxe
chain %(url)s/pxelinux.cfg/${mac:hexhyp} || goto discover
:discover
imgfree
kernel %(url)s/groundup/vmlinuz initrd=initramfs %(options)s BOOTIF=${mac} \
ipa-api-url=%(api_url)s ipa-inspection-callback-url=%(api_url)s/v1/continue_inspection || goto again
initrd --name initramfs %(url)s/groundup/initramfs || goto again
boot
:again
sleep 10
goto discover
"""

# Plain HTTP, because no firmware has the site's CA: serve nothing secret here.
WEB_TEXT = """\
server {
    listen %(port)s;
    access_log off;
    allow %(plane)s;
    deny all;
    root %(media)s;
    location / {
        return 404;
    }
    location /groundup/ {
    }
    location /pxelinux.cfg/ {
    }
    location ~ "^/[0-9a-f-]{36}/(deploy_kernel|deploy_ramdisk)$" {
    }
}
"""


def values(
    wanted: Mapping[str, Any], *, interface: str, api_url: str, addresses: Sequence[Mapping[str, str]]
) -> dict[str, Any]:
    """Return the templates' variables, from the plan of network and site, the interface and the addresses."""
    network = IPv4Network(wanted["cidr"])
    pool = wanted.get("pool")
    lent = f"dhcp-range=tag:!known,{pool[0]},{pool[1]},{network.netmask},10m" if pool else "dhcp-ignore=tag:!known"
    seeds = dict.fromkeys((wanted["seed_address"], wanted["address"]))
    routes = [f"{one}/32,{wanted['address']}" for one in seeds if one != wanted["address"]]
    gateway = wanted.get("gateway")
    routes += [f"0.0.0.0/0,{gateway}"] if gateway else []
    option = f"dhcp-option=option:classless-static-route,{','.join(routes)}\n" if routes else ""
    plane = wanted.get("plane") or wanted["cidr"]
    return {
        **wanted, "plane": plane, "leaves": "".join(map(_leaf, wanted.get("leaves") or ())), "interface": interface,
        "api_url": api_url, "addresses": addresses, "unknown": lent, "routes": option,
        "network": network.network_address, "netmask": network.netmask, "router": f",{gateway}" if gateway else "",
        "resolvers": "".join(f"server={one}\n" for one in wanted["dns_servers"]), "names_file": NAMES,
        "time_servers": "".join(f"server {one} iburst\n" for one in wanted["ntp_servers"]), "clock": CLOCK,
        "without": "" if interface == "lo" else "except-interface=lo\n",
        "programs": PROGRAMS, "conf": CONF, "hosts": HOSTS, "leases": STATE / "leases", "account": ACCOUNT,
        "sandbox": _SANDBOX, "ironic": own.STATE, "media": own.MEDIA, "options": own.KERNEL_OPTIONS,
    }  # fmt: skip


def _leaf(leaf: Mapping[str, Any]) -> str:
    network, pool = IPv4Network(leaf["cidr"]), leaf["pool"]
    lent = ""
    if pool:
        lent = f"dhcp-range=set:leaf-{leaf['rack']},tag:!known,{pool[0]},{pool[1]},{network.netmask},10m\n"
    return _LEAF_TEXT % {**leaf, "network": network.network_address, "netmask": network.netmask, "lent": lent}


def texts(found: Mapping[str, Any]) -> dict[Path, str]:
    """Return dnsmasq's files and unit, by path."""
    entries = [f"{one['mac']},{one['address']},{one['name']},1h\n" for one in found["addresses"]]
    return {
        CONF: files.HEADER + CONF_TEXT % found,
        HOSTS: files.HEADER + "".join(sorted(entries)),
        NAMES: files.HEADER + "".join(f"{address} {name}\n" for name, address in sorted(found["names"].items())),
        UNIT: files.HEADER + UNIT_TEXT % found,
    }


def clock_texts(found: Mapping[str, Any]) -> dict[Path, str]:
    """Return chronyd's files and unit, by path."""
    return {CLOCK: files.HEADER + CLOCK_TEXT % found, CLOCK_UNIT: files.HEADER + CLOCK_UNIT_TEXT % found}


def scripts(found: Mapping[str, Any]) -> dict[Path, str]:
    """Return the iPXE scripts, by path."""
    unknown = UNKNOWN_TEXT if found.get("pool") else "#!ipxe\nexit 0\n"
    return {SCRIPTS / "known.ipxe": KNOWN_TEXT % found, SCRIPTS / "unknown.ipxe": unknown % found}


def web(found: Mapping[str, Any]) -> str:
    """Return nginx's configuration."""
    return files.HEADER + WEB_TEXT % found
