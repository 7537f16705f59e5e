"""Package a Helm chart that its project keeps beside its Go source: extract it from the module, pack it for Helm.

Inputs: ``module`` and ``version``, ``sum`` (the module's hash as in go.sum) and ``chart`` (directory in it). The
archive is ``<chart>-<version of the artifact>.tgz``. It has every file of the directory, even those that
``.helmignore`` excludes, all with mode 0644.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path, PurePosixPath

from ..errors import not_locked
from ..lock.model import Entry
from ..make.builder import Builder
from ..make.context import BuildContext
from ..make.sbom import Component
from .go import run_go

_FETCH = 'go mod download -json "$1" > module.json'


class ModuleChart(Builder):
    """Fetch the module with Go and the machine's own configuration; its sum must be the locked one."""

    def build(self, entry: Entry, context: BuildContext) -> None:
        """Fetch the module, compare its sum, pack the chart."""
        inputs, work = entry.inputs, context.scratch / "work"
        work.mkdir()
        module = f"{inputs['module']}@{inputs['version']}"
        context.say(f"fetching {module}")
        run_go(context, ["sh", "-euc", _FETCH, "sh", module], source=work)
        fetched = json.loads((work / "module.json").read_text(encoding="utf-8"))
        if fetched["Sum"] != inputs["sum"]:
            raise not_locked(entry, f"module {module} has sum {fetched['Sum']}", locked=inputs["sum"], key="inputs.sum")
        directory = context.shared_cache("go-mod") / PurePosixPath(fetched["Dir"]).relative_to("/cache/go-mod")
        chart = directory / inputs["chart"]
        pack(chart, context.output / f"{chart.name}-{entry.version}.tgz", epoch=context.lock.pins.epoch)
        context.components.append(Component.of("golang", inputs["module"], inputs["version"]))


def pack(chart: Path, archive: Path, *, epoch: int) -> None:
    """Write ``chart`` as a Helm archive, with the same bytes for the same files."""
    with (
        archive.open("wb") as raw,
        gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=epoch) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in sorted(path for path in chart.rglob("*") if path.is_file()):
            content = path.read_bytes()
            member = tarfile.TarInfo(f"{chart.name}/{path.relative_to(chart).as_posix()}")
            member.size, member.mode, member.mtime = len(content), 0o644, epoch
            tar.addfile(member, io.BytesIO(content))


BUILDER = ModuleChart()
