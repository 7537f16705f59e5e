"""Build Go programs from their modules, in a build root whose Go obtains the pinned toolchain as a module.

Inputs: ``module`` (directory below ``supply/go/`` with go.mod, go.sum and perhaps a main.go of our own), ``packages``
(program name -> package to build), ``tests`` (program name -> package whose tests it runs), ``stamp`` (variable ->
value set by the linker), ``include`` (file -> ``artifact:path``: files of other artifacts, served with the programs),
``copy`` (file -> ``module:path``: other files of a module) and ``versions_of`` (another module below ``supply/go/``
whose go.mod is shared). go.sum pins the content of every module.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...paths import COLLECTION
from ..lock.model import Entry
from ..make.builder import Builder
from ..make.context import BuildContext
from ..make.sbom import Component, go_components

_SOURCES = COLLECTION / "supply/go"
_COPY = 'install -m 644 "$(go list -m -f "{{.Dir}}" "$2")/$3" "bin/$1"'  # a shell's arguments: file, module, path


class GoPrograms(Builder):
    """Run ``go build``: static programs without paths of the machine."""

    version = 2

    def sources(self, entry: Entry) -> tuple[Path, ...]:
        """Return the module's directory, and the go.mod it shares."""
        shared = [_SOURCES / entry.inputs["versions_of"] / "go.mod"] if "versions_of" in entry.inputs else []
        return (_SOURCES / entry.inputs["module"], *shared)

    def build(self, entry: Entry, context: BuildContext) -> None:
        """Compile and link every program, and list the modules that were linked."""
        work = context.scratch / "work"
        module, *shared = self.sources(entry)
        shutil.copytree(module, work)
        for path in shared:
            shutil.copy(path, work)
        (work / "bin").mkdir()
        packages: dict[str, str] = entry.inputs["packages"]
        flags = " ".join(["-s -w", *(f"-X {name}={value}" for name, value in entry.inputs.get("stamp", {}).items())])
        tests: dict[str, str] = entry.inputs.get("tests", {})
        context.say(f"compiling {', '.join([*packages, *tests])}")
        # What a debugger reads is made by the compiler and thrown away by the linker (-s -w): a seventh of the CPU.
        lean = ["-trimpath", "-gcflags=all=-dwarf=false", "-ldflags", flags]
        options = ["-p", str(os.cpu_count() or 1), *lean, "-o"]
        run_go(context, ["go", "build", *options, "bin/", *packages.values()], source=work)
        for name, package in packages.items():
            shutil.move(work / "bin" / _linked_name(package, entry.inputs["module"]), context.output / name)
            (context.output / name).chmod(0o755)
        for name, package in tests.items():
            run_go(context, ["go", "test", "-c", "-vet=off", *options, f"bin/{name}", package], source=work)
            shutil.move(work / "bin" / name, context.output / name)
        for name, source in entry.inputs.get("include", {}).items():
            artifact, _, path = source.partition(":")
            shutil.copy(context.needs[artifact].path / path, context.output / name)
        for name, source in entry.inputs.get("copy", {}).items():
            run_go(context, ["sh", "-euc", _COPY, "sh", name, *source.split(":")], source=work)
            shutil.move(work / "bin" / name, context.output / name)
        list_all = ["sh", "-euc", "go version -m /output > modules.txt"]
        run_go(context, list_all, source=work, binds={"/output": context.output}, network=False)
        context.components.append(Component.of("golang", "std", context.lock.pins.go.removeprefix("go")))
        context.components.extend(go_components((work / "modules.txt").read_text(encoding="utf-8")))


def run_go(
    context: BuildContext,
    command: Sequence[str],
    *,
    source: Path,
    binds: Mapping[str, Path] | None = None,
    network: bool = True,
) -> None:
    """Run ``command`` in ``source``: pinned toolchain, no C, modules exactly as in go.sum, shared caches.

    GOGC makes compilers collect garbage less often: a fifth less CPU, a tenth more memory (CoreDNS), the same programs.
    """
    environment = {
        "GOGC": "400",
        "GOTOOLCHAIN": context.lock.pins.go,
        "GOFLAGS": "-mod=readonly -modcacherw -buildvcs=false",
        "CGO_ENABLED": "0",
        "GOMODCACHE": "/cache/go-mod",
        "GOCACHE": "/cache/go-build",
    }
    mounts = {f"/cache/{name}": context.shared_cache(name) for name in ("go-mod", "go-build")}
    context.chroot("root-go").run(
        command, env=environment, binds=mounts | {"/src": source} | dict(binds or {}), cwd="/src", network=network
    )


def _linked_name(package: str, module: str) -> str:
    """Return the file name that ``go build`` chooses: the last path element that is not a major version."""
    words = [module if word == "." else word for word in package.split("/")]
    return words[-2] if words[-1][0] == "v" and words[-1][1:].isdigit() else words[-1]


BUILDER = GoPrograms()
