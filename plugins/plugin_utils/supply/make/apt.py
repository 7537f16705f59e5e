"""Install Debian packages into a build root; the machine's mirrors do not become part of the artifact."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from . import machine
from .chroot import Chroot
from .context import BuildContext

MOUNT = "/build"  # files for the build that an image must not keep: sources, lists, caches, requirement files
_CONFIGURATION = (
    'Dir::Etc::SourceList "/build/sources.list";',
    'Dir::Etc::SourceParts "/dev/null";',
    'Dir::State::Lists "/build/lists";',
    'Dir::Cache "/build/cache";',
    'APT::Install-Recommends "false";',
    'APT::Sandbox::User "root";',
    'Acquire::Languages "none";',
)
_NO_SERVICES = "#!/bin/sh\nexit 101\n"  # policy-rc.d(8): do not start services when they are installed


def install(
    root: Chroot, context: BuildContext, packages: Sequence[str], *, work: Path, components: Sequence[str] = ("main",)
) -> None:
    """Install ``packages`` from the pinned suite, without recommended ones and without starting services.

    ``work``: directory mounted at ``/build`` meanwhile; created when missing.
    """
    work.mkdir(parents=True, exist_ok=True)
    for directory in ("lists/partial", "cache/archives/partial"):
        (work / directory).mkdir(parents=True, exist_ok=True)
    sources = machine.apt_lines(context.lock.pins.suite, components=components)
    (work / "sources.list").write_text("".join(f"{line}\n" for line in sources), encoding="utf-8")
    options = [*_CONFIGURATION, *machine.apt_options()]
    (work / "apt.conf").write_text("".join(f"{line}\n" for line in options), encoding="utf-8")
    policy = root.upper / "usr/sbin/policy-rc.d"
    policy.parent.mkdir(parents=True, exist_ok=True)
    policy.write_text(_NO_SERVICES, encoding="utf-8")
    policy.chmod(0o755)
    environment = {"APT_CONFIG": f"{MOUNT}/apt.conf", "SOURCE_DATE_EPOCH": str(context.lock.pins.epoch)}
    for command in (["update", "-q"], ["install", "-q", "-y", *packages]):
        root.run(["apt-get", *command], env=environment, binds={MOUNT: work})
    policy.unlink()
