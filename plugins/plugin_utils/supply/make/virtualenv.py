"""Create Python environments from hashed requirements in a build root, compiled, ready for an image.

The requirements list names, versions and hashes; the machine's pip or uv configuration says where to fetch them. Source
distributions are built with setuptools and pbr of the same requirements, so that no unhashed code takes part.
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
_BACKENDS = ("setuptools", "pbr")  # imported by builds of source distributions, so installed first


def requirements(name: str) -> Path:
    """Return the hashed requirements called ``name``."""
    return REQUIREMENTS / f"{name}.txt"


def backends(lock: Path) -> str:
    """Return the requirements, with hashes, of the build backends of source distributions in ``lock``."""
    return "".join(paragraph for name in _BACKENDS if (paragraph := _requirement(lock, name)) is not None)


def install_installer(root: Chroot, context: BuildContext, *, work: Path) -> None:
    """Install uv into ``/opt/installer`` of a build root that has python3-venv."""
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
    """Create the virtual environment ``path`` with everything in ``lock``; ``ldflags`` apply to compiled code.

    ``relocatable``: it works in any directory; its programs find Python relative to themselves.
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
    """Compile everything below ``directories`` to bytecode that is valid without a check of the sources' time stamps.

    Images have one time stamp for all files, so bytecode with the source's time stamp would be stale, and Python would
    compile again in memory at every start.

    One process compiles in a fixed order: the strings it shares depend on earlier files, and affect the bytecode.
    """
    options = ["-q", "-f", "--invalidation-mode", "unchecked-hash"]
    command = ["python3", "-m", "compileall", *options, *directories]
    root.run(command, env={"PYTHONHASHSEED": "0"}, network=False)


def _common(lock: Path, work: Path) -> list[str]:
    (work / "requirements.txt").write_bytes(lock.read_bytes())
    return ["--require-hashes", "--no-deps"]


def _uv(root: Chroot, context: BuildContext, arguments: Sequence[str], *, work: Path, ldflags: str = "") -> None:
    # uv caches wheels it has built without recording the flags: each set of flags has its own cache.
    cache = context.shared_cache("uv" + "".join(ldflags.split()))
    binds = {MOUNT: work, "/root/.cache/uv": cache}
    environment = {"UV_LINK_MODE": "copy", "UV_NO_CONFIG": "1", "SOURCE_DATE_EPOCH": str(context.lock.pins.epoch)}
    if ldflags:
        environment["LDFLAGS"] = ldflags
    root.run([_UV, *arguments], env=environment | index_settings(), binds=binds)


def index_settings() -> dict[str, str]:
    """Return uv's variables for the package index in this machine's pip configuration; empty for the default index."""
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
    """Return the lines of one distribution in hashed requirements: its requirement and its hashes."""
    found = re.search(rf"^{re.escape(name)}==(?:.*\\\n)*.*$", lock.read_text(encoding="utf-8"), re.MULTILINE)
    return f"{found.group(0)}\n" if found else None
