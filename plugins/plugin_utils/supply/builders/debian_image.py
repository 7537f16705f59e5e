"""Build service images: Debian packages and Python environments as one layer on a shared base, in an OCI archive.

``needs`` names the base, a ``root`` artifact with python3. Its archive is the lower layer, the same in every image.
Inputs, all optional:

* ``packages``: Debian packages, without recommended ones;
* ``users``: name -> numeric id of user and group, created before the packages, which then keep it;
* ``virtualenv``: ``path``, ``requirements`` (name of a hashed list), ``build_packages`` (compilers and headers, not
  shipped), ``ldflags`` (for compiled code), ``omit`` (patterns below ``site-packages`` not needed at run time);
* ``python``: ``requirements`` (the same) for the system's own Python;
* ``files``: directory below ``supply/images/`` whose tree is copied over the image;
* ``links``: path -> target;
* ``directories``: path -> numeric owner;
* ``omit``: patterns to leave out, without the leading ``/``: files that packages generate for one machine;
* ``config``: ``env``, ``user``, ``cmd``, ``entrypoint`` of the image.
"""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path
from typing import Any

from ...paths import COLLECTION
from ..cache.unpack import unpacked
from ..lock.model import Entry
from ..make import apt, virtualenv
from ..make.archive import pack_command
from ..make.builder import Builder
from ..make.chroot import Chroot
from ..make.context import BuildContext
from ..make.oci import ImageConfig, write_layer
from ..make.sbom import debian_components, python_components

_IMAGES = COLLECTION / "supply/images"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_OPAQUE = "trusted.overlay.opaque"  # a directory that hides the base's directory of the same name
# Files of the build only, and caches and backups of package tools, which differ in each build.
_OMIT = (
    "build", "dev", "proc", "sys", "tmp/*", "root/.cache", "etc/pip.conf", "etc/resolv.conf", "etc/machine-id",
    "etc/.pwd.lock", "etc/*-", "var/cache/apt/*", "var/cache/debconf/*", "var/cache/ldconfig/*", "var/lib/apt/lists/*",
    "var/lib/dpkg/*-old", "var/lib/systemd/*",
)  # fmt: skip


class DebianImage(Builder):
    """Build one layer on a base from ``inputs``, compiled, without traces of its build."""

    version = 3

    def sources(self, entry: Entry) -> tuple[Path, ...]:
        """Return requirement lists and the files copied over the image."""
        inputs = entry.inputs
        wanted = [inputs[kind] for kind in ("virtualenv", "python") if kind in inputs]
        lists = [virtualenv.requirements(each["requirements"]) for each in wanted]
        files = [_IMAGES / inputs["files"]] if "files" in inputs else []
        return (*lists, *files, *([virtualenv.INSTALLER] if lists else []))

    def build(self, entry: Entry, context: BuildContext) -> None:
        inputs, (base,) = entry.inputs, entry.needs
        root = context.chroot(base, layer="image")
        for name, number in inputs.get("users", {}).items():
            self._user(root, context, name, number)
        if packages := inputs.get("packages"):
            context.say("installing packages")
            apt.install(root, context, packages, work=context.scratch / "work")
        if "virtualenv" in inputs or "python" in inputs:
            self._python(root, base, inputs, context)
        if "files" in inputs:
            shutil.copytree(_IMAGES / inputs["files"], root.upper, dirs_exist_ok=True, symlinks=True)
        for path, target in inputs.get("links", {}).items():
            (root.upper / path.lstrip("/")).symlink_to(target)
        for path, owner in inputs.get("directories", {}).items():
            root.run(["install", "-d", "-o", str(owner), "-g", str(owner), path], network=False)
        root.run(["find", "/var/log", "-type", "f", "-delete"], network=False)
        context.say("compiling bytecode")
        virtualenv.compile_bytecode(root, self._compiled(base, inputs, context))
        database = root.upper if inputs.get("packages") else unpacked(context.needs[base])
        context.components.extend(debian_components(database, context.lock.pins.suite))
        context.say("packing")
        self._pack(root, entry, context)

    def _user(self, root: Chroot, context: BuildContext, name: str, number: int) -> None:
        identity, clock = str(number), {"SOURCE_DATE_EPOCH": str(context.lock.pins.epoch)}
        root.run(["groupadd", "-o", "-g", identity, name], env=clock, network=False)
        home = ["-M", "-d", f"/var/lib/{name}", "-s", "/usr/sbin/nologin"]
        root.run(["useradd", "-o", "-u", identity, "-g", identity, *home, name], env=clock, network=False)

    def _python(self, root: Chroot, base: str, inputs: dict[str, Any], context: BuildContext) -> None:
        """Install into a separate layer with the compilers, and move only the result."""
        build, work = context.chroot(base, layer="build"), context.scratch / "work-build"
        wanted = inputs.get("virtualenv") or inputs["python"]
        context.say("installing compilers")
        apt.install(build, context, ["python3-venv", *wanted.get("build_packages", [])], work=work)
        virtualenv.install_installer(build, context, work=work)
        context.say("installing Python distributions")
        lock = virtualenv.requirements(wanted["requirements"])
        if "virtualenv" in inputs:
            path = str(wanted["path"])
            virtualenv.create(build, context, path=path, lock=lock, work=work, ldflags=wanted.get("ldflags", ""))
            (site,) = (build.upper / path.lstrip("/")).glob("lib/python3*/site-packages")
            context.components.extend(python_components(site))
            for pattern in wanted.get("omit", []):
                for directory in site.glob(pattern):
                    shutil.rmtree(directory)
        else:
            path = self._local_python(base, context)
            virtualenv.add(build, context, target=path, lock=lock, work=work)
            context.components.extend(python_components(build.upper / path.lstrip("/")))
        place = root.upper / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        (build.upper / path.lstrip("/")).rename(place)

    def _compiled(self, base: str, inputs: dict[str, Any], context: BuildContext) -> list[str]:
        local = self._local_python(base, context)
        found = ["/usr/lib/python3", f"/usr/lib/{Path(local).parent.name}"]
        if "python" in inputs:
            found.append(local)
        if "virtualenv" in inputs:
            found.append(f"{inputs['virtualenv']['path']}/lib")
        return found

    def _local_python(self, base: str, context: BuildContext) -> str:
        """Return the directory in which the base's Python looks for distributions not packaged by Debian."""
        (library,) = (unpacked(context.needs[base]) / "usr/lib").glob("python3.*")
        return f"/usr/local/lib/{library.name}/dist-packages"

    def _pack(self, root: Chroot, entry: Entry, context: BuildContext) -> None:
        layer, epoch = context.scratch / "layer.tar", context.lock.pins.epoch
        _mark_removed(root.upper)
        omit = [f"./{pattern}" for pattern in (*_OMIT, *entry.inputs.get("omit", []))]
        context.run(pack_command(root.upper, layer, epoch=epoch, exclude=omit))
        config = dict(entry.inputs.get("config", {}))
        config["env"] = {"PATH": _PATH, "LANG": "C.UTF-8", **config.get("env", {})}
        for key in ("cmd", "entrypoint"):
            config[key] = tuple(config.get(key, ()))
        base = context.needs[entry.needs[0]].path
        write_layer(context, layer=layer, config=ImageConfig(**config), reference=str(entry.image), below=[base])


def _mark_removed(upper: Path) -> None:
    """Convert overlayfs's markers of removed files (devices and attributes) to whiteouts of image layers."""
    for path in list(upper.rglob("*")):
        status = path.lstat()
        if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
            path.unlink()
            (path.parent / f".wh.{path.name}").touch()
        elif stat.S_ISDIR(status.st_mode) and _OPAQUE in os.listxattr(path, follow_symlinks=False):
            (path / ".wh..wh..opq").touch()


BUILDER = DebianImage()
