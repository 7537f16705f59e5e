"""Python environments from hashed requirements: installed in a build root, compiled, ready to be put into an image.

The requirements hold names, versions and hashes; where they come from is the machine's pip or uv configuration. Source
distributions are built with the setuptools and pbr of the same requirements, so that nothing unhashed takes part.
"""

from __future__ import annotations

import configparser
import re
from collections.abc import Sequence
from pathlib import Path

from ...paths import COLLECTION
from . import machine
from .apt import MOUNT
from .chroot import Chroot
from .context import BuildContext

REQUIREMENTS = COLLECTION / "supply/images/python"
INSTALLER = REQUIREMENTS / "installer.txt"
_UV = "/opt/installer/bin/uv"
_BACKENDS = ("setuptools", "pbr")  # what the source distributions' own builds import: there before them


def requirements(name: str) -> Path:
    """Return the hashed requirements called ``name``."""
    return REQUIREMENTS / f"{name}.txt"


def backends(lock: Path) -> str:
    """Return what source distributions of ``lock`` are built with, itself hashed and of the same list."""
    return "".join(paragraph for name in _BACKENDS if (paragraph := _requirement(lock, name)) is not None)


def install_installer(root: Chroot, context: BuildContext, *, work: Path) -> None:
    """Put uv into ``/opt/installer`` of a build root that has python3-venv."""
    (work / "installer.txt").write_bytes(INSTALLER.read_bytes())
    root.run(["python3", "-m", "venv", "/opt/installer"])
    pip = ["/opt/installer/bin/pip", "install", "-q", "--disable-pip-version-check", "--require-hashes", "--no-deps"]
    cache = context.shared_cache("pip")
    root.run([*pip, "-r", f"{MOUNT}/installer.txt"], binds={MOUNT: work, "/root/.cache/pip": cache})


def create(
    root: Chroot,
    context: BuildContext,
    *,
    path: str,
    lock: Path,
    work: Path,
    ldflags: str = "",
    relocatable: bool = False,
) -> None:
    """Make the virtual environment ``path`` with everything in ``lock``; ``ldflags`` are for what is compiled.

    ``relocatable``: it works in any directory, and its programs find their Python by their own place.
    """
    moves = ["--relocatable"] if relocatable else []
    _uv(root, context, ["venv", "-q", *moves, "--python", "/usr/bin/python3", path], work=work)
    install = ["pip", "install", "-q", "--python", f"{path}/bin/python", *_common(lock, work)]
    if first := backends(lock):
        (work / "backends.txt").write_text(first, encoding="utf-8")
        _uv(root, context, [*install, "-r", f"{MOUNT}/backends.txt"], work=work, ldflags=ldflags)
    install += ["--no-build-isolation", "-r", f"{MOUNT}/requirements.txt"]
    _uv(root, context, install, work=work, ldflags=ldflags)


def add(root: Chroot, context: BuildContext, *, target: str, lock: Path, work: Path) -> None:
    """Install everything in ``lock`` into the directory ``target``, for the system's own Python."""
    install = ["pip", "install", "-q", "--python", "/usr/bin/python3", "--target", target, "--only-binary", ":all:"]
    _uv(root, context, [*install, *_common(lock, work), "-r", f"{MOUNT}/requirements.txt"], work=work)


def compile_bytecode(root: Chroot, directories: Sequence[str]) -> None:
    """Compile everything below ``directories`` so that it is used without a look at the sources' time stamps.

    Images have one time stamp for all files, so bytecode that records the source's would be stale, and Python would
    compile again in memory at every start.

    By one process, in one order: what it compiled before decides which strings it shares, and that is in the bytecode.
    """
    options = ["-q", "-f", "--invalidation-mode", "unchecked-hash"]
    command = ["python3", "-m", "compileall", *options, *directories]
    root.run(command, env={"PYTHONHASHSEED": "0"}, network=False)


def _common(lock: Path, work: Path) -> list[str]:
    (work / "requirements.txt").write_bytes(lock.read_bytes())
    return ["--require-hashes", "--no-deps"]


def _uv(root: Chroot, context: BuildContext, arguments: Sequence[str], *, work: Path, ldflags: str = "") -> None:
    # uv keeps wheels it has built and does not know what flags made them: each set of flags has a cache of its own.
    cache = context.shared_cache("uv" + "".join(ldflags.split()))
    binds = {MOUNT: work, "/root/.cache/uv": cache}
    environment = {"UV_LINK_MODE": "copy", "UV_NO_CONFIG": "1", "SOURCE_DATE_EPOCH": str(context.lock.pins.epoch)}
    if ldflags:
        environment["LDFLAGS"] = ldflags
    root.run([_UV, *arguments], env=environment | index_settings(), binds=binds)


def index_settings() -> dict[str, str]:
    """Return uv's variables for the package index of this machine's pip configuration; empty: the default one."""
    environment = machine.environment()
    if any(name in environment for name in ("UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX")):
        return {}
    configured: dict[str, str] = {}
    if (file := machine.pip_configuration()) is not None:
        parser = configparser.RawConfigParser(strict=False)
        parser.read(file, encoding="utf-8")
        for section in ("global", "install"):
            configured |= dict(parser.items(section)) if parser.has_section(section) else {}
    index = environment.get("PIP_INDEX_URL") or configured.get("index-url")
    extra = environment.get("PIP_EXTRA_INDEX_URL") or configured.get("extra-index-url")
    trusted = environment.get("PIP_TRUSTED_HOST") or configured.get("trusted-host")
    found = {"UV_DEFAULT_INDEX": index, "UV_EXTRA_INDEX_URL": extra, "UV_INSECURE_HOST": trusted}
    return {name: " ".join(value.split()) for name, value in found.items() if value}


def _requirement(lock: Path, name: str) -> str | None:
    """Return the paragraph of one distribution of hashed requirements: its line and its hashes."""
    found = re.search(rf"^{re.escape(name)}==(?:.*\\\n)*.*$", lock.read_text(encoding="utf-8"), re.MULTILINE)
    return f"{found.group(0)}\n" if found else None
