"""Hardening beyond Debian's defaults: the rules of docs/host.md as data.

Some repeat OS defaults, because audits ask for them explicitly. A site undoes single rules by `hosts.sysctl` (another
value, or null), `hosts.disabled_units` or `hosts.blocked_modules`, and all of them by `hosts.hardening: false`.
"""

from __future__ import annotations

# Parameters of a network namespace: hosts that share a kernel have their own. `*` stands for each existing interface,
# `all` and `default` (future ones): the kernel applies some of these when either `all` or the interface says yes.
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
# Parameters of the whole kernel: only on a site where every host has its own kernel.
KERNEL = {
    "fs.protected_hardlinks": "1",
    "fs.protected_symlinks": "1",
    "fs.suid_dumpable": "0",
    "kernel.dmesg_restrict": "1",
    "kernel.kptr_restrict": "1",
    "kernel.randomize_va_space": "2",
    "kernel.yama.ptrace_scope": "1",
}
# They listen on the network, and no role needs them. Of apt's timers `hosts.updates` decides.
DISABLED_UNITS = (
    "avahi-daemon.socket",
    "avahi-daemon.service",
    "cups.socket",
    "cups.service",
    "rpcbind.socket",
    "rpcbind.service",
)
# File systems of old media, and protocols not used here; each has a history of vulnerabilities.
BLOCKED_MODULES = ("cramfs", "dccp", "freevxfs", "hfs", "hfsplus", "jffs2", "rds", "tipc")


def parameters(*, own_kernel: bool) -> dict[str, str]:
    """Return the hardening's kernel parameters. ``own_kernel`` is false for a site with system containers."""
    return {**NETWORK, **(KERNEL if own_kernel else {})}
