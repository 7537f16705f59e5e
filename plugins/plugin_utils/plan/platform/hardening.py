"""Hardening beyond Debian's defaults: the rules of docs/host.md, as data.

Written out rather than left to the OS's defaults where an audit asks for them. A site takes single ones back by writing
`hosts.sysctl` (another value, or null), `hosts.disabled_units` or `hosts.blocked_modules`, or all of them by
`hosts.hardening: false`.
"""

from __future__ import annotations

# Belong to a network namespace, so that hosts that share a kernel have their own. `*` is each interface there is, with
# `all` and `default` (those to come): the kernel does some of these when either `all` or the interface says yes.
NETWORK = {
    "net.ipv4.conf.*.accept_redirects": "0",
    "net.ipv4.conf.*.secure_redirects": "0",
    "net.ipv4.conf.*.send_redirects": "0",
    "net.ipv4.conf.*.accept_source_route": "0",
    "net.ipv6.conf.*.accept_redirects": "0",
    "net.ipv6.conf.*.accept_source_route": "0",
    "net.ipv4.icmp_echo_ignore_broadcasts": "1",
    "net.ipv4.icmp_ignore_bogus_error_responses": "1",
    "net.ipv4.tcp_syncookies": "1",
}
# The machine's: only on a site all of whose hosts have a kernel of their own.
KERNEL = {
    "fs.protected_hardlinks": "1",
    "fs.protected_symlinks": "1",
    "fs.suid_dumpable": "0",
    "kernel.dmesg_restrict": "1",
    "kernel.kptr_restrict": "1",
    "kernel.randomize_va_space": "2",
    "kernel.yama.ptrace_scope": "1",
}
# Packages change by a run of the operator, host by host: an upgrade that restarts containerd or Open vSwitch on every
# host in the same night is an outage. The others answer the network and no role asks for them.
DISABLED_UNITS = (
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "unattended-upgrades.service",
    "avahi-daemon.socket",
    "avahi-daemon.service",
    "cups.socket",
    "cups.service",
    "rpcbind.socket",
    "rpcbind.service",
)
# File systems of old media and protocols without a user here, each with a history of holes.
BLOCKED_MODULES = ("cramfs", "dccp", "freevxfs", "hfs", "hfsplus", "jffs2", "rds", "tipc")


def parameters(*, own_kernel: bool) -> dict[str, str]:
    """Return the kernel parameters; ``own_kernel`` is false for a site with system containers."""
    return {**NETWORK, **(KERNEL if own_kernel else {})}
