"""Who uses the memory of a lab: its workloads and programs, its hosts, its kernel memory.

Usage: ci/lab memory, or ci/run python ci/memory.py SITE_FILE [--most GIB]

A page that several processes share counts for each in part (PSS). Page cache that no process has mapped is not counted:
the kernel takes it back when somebody needs memory. Exit code 1 above --most.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.module_utils._container.cgroups import hierarchies, populated
from ansible_collections.groundup.cloud.plugins.module_utils._container.names import CGROUP
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import load_site, make_plan

PROC = Path("/proc")
MIB = 1 << 20
SHOWN = 25  # users in the table; the rest is one line
_OF_A_POD = re.compile(r"(-[0-9a-f]{6,10})?-[bcdfghjklmnpqrstvwxz2456789]{5}$|-\d+$")
_INTERPRETER = re.compile(r"^(python[\d.]*|bash|sh)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What one process uses."""

    host: str
    user: str  # a workload of the cluster, or a program of the host
    size: int  # bytes, PSS
    shared: int  # of it in memory file systems


def user(host: str, hostname: str, argv: list[str]) -> str:
    """Return who a process belongs to. A pod's hostname is its name, unless it has its node's network."""
    if hostname and hostname != host:
        return _OF_A_POD.sub("", hostname)
    words = [Path(word.partition(": ")[0]).name for word in argv if word and not word.startswith("-")]
    named = [word for word in words if not _INTERPRETER.match(word)]
    return (named or words or ["?"])[0].strip("()")


def use(host: str, process: Path) -> Use | None:
    """Return what the process of a directory of /proc uses, None when it has ended."""
    with contextlib.suppress(OSError):
        sizes = dict(re.findall(r"^(Pss|Pss_Shmem):\s+(\d+) kB", (process / "smaps_rollup").read_text(), re.MULTILINE))
        argv = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
        hostname = ""
        with contextlib.suppress(OSError):  # an image without one
            hostname = (process / "root/etc/hostname").read_text().strip()
        name = user(host, hostname, argv)
        return Use(host=host, user=name, size=int(sizes["Pss"]) << 10, shared=int(sizes.get("Pss_Shmem", 0)) << 10)
    return None


def group(site: str) -> dict[str, int]:
    """Return the bytes of kernel memory and memory file systems, and of page cache, that a lab's control group has."""
    for top in hierarchies():
        directory = top / CGROUP / site
        with contextlib.suppress(OSError):
            stat = {
                key: int(value) for key, value in map(str.split, (directory / "memory.stat").read_text().splitlines())
            }
            if "total_rss" in stat:  # control groups of version 1
                kernel = int((directory / "memory.kmem.usage_in_bytes").read_text())
                return {"kernel": kernel, "shmem": stat["total_shmem"], "cache": stat["total_cache"]}
            return {"kernel": stat.get("kernel", 0), "shmem": stat["shmem"], "cache": stat["file"]}
    return {"kernel": 0, "shmem": 0, "cache": 0}


def total(used: Iterable[Use], of_group: Mapping[str, int]) -> int:
    """Return the bytes that a lab uses."""
    listed = list(used)
    return sum(one.size for one in listed) + of_group["kernel"] + unmapped(listed, of_group)


def unmapped(used: Iterable[Use], of_group: Mapping[str, int]) -> int:
    """Return the bytes of files in memory file systems that no process has mapped."""
    return max(0, of_group["shmem"] - sum(one.shared for one in used))


def table(used: Iterable[Use], of_group: Mapping[str, int]) -> str:
    """Return who uses what, the largest first."""
    listed = list(used)
    sizes: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    hosts: Counter[str] = Counter()
    where: defaultdict[str, set[str]] = defaultdict(set)
    for one in listed:
        sizes[one.user] += one.size
        counts[one.user] += 1
        where[one.user].add(one.host)
        hosts[one.host] += one.size
    lines = [f"{'MiB':>6} {'processes':>9}  who, where"]
    for name, size in sizes.most_common(SHOWN):
        lines.append(f"{size / MIB:6.0f} {counts[name]:9d}  {name} ({', '.join(sorted(where[name]))})")
    rest = sizes.most_common()[SHOWN:]
    lines.append(f"{sum(size for _, size in rest) / MIB:6.0f} {sum(counts[name] for name, _ in rest):9d}  all others")
    lines.append(f"{of_group['kernel'] / MIB:6.0f} {'':9}  the kernel, for these processes")
    lines.append(f"{unmapped(listed, of_group) / MIB:6.0f} {'':9}  files in memory")
    lines.append(f"{total(listed, of_group) / MIB:6.0f} {sum(counts.values()):9d}  all")
    lines += [f"{size / MIB:6.0f} {'':9}  of it processes of {host}" for host, size in sorted(hosts.items())]
    return "\n".join(lines)


def look(site_file: str) -> tuple[list[Use], dict[str, int]]:
    """Return what each process of a site's lab uses, and its control group."""
    plan = make_plan(load_site(site_file))
    found = [
        used
        for host in plan.hosts
        for pid in sorted(populated(f"{CGROUP}/{plan.site}/{host}"))
        if (used := use(host, PROC / str(pid)))
    ]
    return found, group(plan.site)


def main() -> int:
    """Print the table, judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("site_file")
    parser.add_argument("--most", type=float, default=float("inf"), help="GiB that the lab may use")
    arguments = parser.parse_args()
    used, of_group = look(arguments.site_file)
    if not used:
        sys.exit(f"no lab of {arguments.site_file} is running here: ci/lab up")
    print(table(used, of_group))
    size = total(used, of_group) / (1 << 30)
    print(f"{size:.1f} GiB, and {of_group['cache'] / (1 << 30):.1f} GiB of page cache that the kernel takes back")
    if size > arguments.most:
        print(f"missed: {size:.1f} GiB, at most {arguments.most:g}")
    return 1 if size > arguments.most else 0


if __name__ == "__main__":
    raise SystemExit(main())
