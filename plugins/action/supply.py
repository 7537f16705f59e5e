"""Action of module groundup.cloud.supply: artifacts of the lock, on the controller."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from ..module_utils._base.errors import GroundupError, OptionError
from ..module_utils._base.files import write_file
from ..plugin_utils import supply
from ..plugin_utils.actions import DocumentedAction
from ..plugin_utils.progress import TERMINAL
from ..plugin_utils.site_proxy import fetching

if TYPE_CHECKING:
    from ..plugin_utils.supply.lock.model import Lock
    from ..plugin_utils.supply.resolve import Resolution

CHARTS = "openstack-charts"
OTHER_DIGEST = "other-digest"  # force code: a recorded digest gives way to the one that is published now


class ActionModule(DocumentedAction):
    """Build or fetch artifacts that the cache lacks, or hold artifacts and hosts against advisories."""

    RULES: ClassVar = {"required_if": [("step", "advisories", ("files",)), ("step", "charts", ("directory",))]}

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        if given["step"] == "advisories":
            return self._advisories(given)
        site = self.variables.get("groundup_site") or {}
        with fetching(site):
            match given["step"]:
                case "resolve":
                    return self._resolve(given, site)
                case "charts":
                    return self._charts(given)
            return self._build(given, site)

    def _resolve(self, given: dict[str, Any], site: Mapping[str, Any]) -> dict[str, Any]:
        """Return the digests that the lock does not have. Raises GroundupError when one is not known afterwards."""
        from ..plugin_utils.supply.resolve import resolve  # late: only this needs the builders

        if not site:
            raise OptionError("the digests are recorded for a site: run it with a site file (-i)")
        lock, own = supply.load_lock(), site["supply"]
        fetched = () if own["source"] == "registry" else lock.select(None)
        found = resolve(
            lock, site["site"], given["names"] or [*fetched, *own["chosen"]], source=given["source"],
            again=OTHER_DIGEST in given["force"], write=not self._task.check_mode, say=self._display.display,
        )  # fmt: skip
        new, lost = [one for one in found if one.new], [one for one in found if one.digest is None]
        lines = [f"{one.address} {digest}\n" for one in new for digest in (one.recorded,) if digest]
        result = {
            "changed": bool(new),
            "failed": bool(lost),
            "resolved": [asdict(one) for one in found],
            "diff": {"before": "".join(lines), "after": "".join(f"{one.address} {one.digest}\n" for one in new)},
        }
        if lost:
            return {**result, "msg": str(_unresolved(lost))}
        return {**result, "msg": f"{len(found)} digests are not in supply.lock, {len(new)} of them new here"}

    def _charts(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the archives that are, or would be, in the directory."""
        target = Path(given["directory"]).resolve()
        if self._task.check_mode and supply.missing(CHARTS):
            return {"changed": True, "charts": [], "msg": f"would be made, and put into {target}"}
        with _taken_from(given["checkout"]):
            made = supply.ensure(CHARTS, progress=self._display.display)[CHARTS]
        files = {file.name: file.read_bytes() for file in sorted(made.path.glob("*.tgz"))}
        new = [name for name, content in files.items() if not _holds(target / name, content)]
        if not self._task.check_mode:
            for name in new:
                write_file(target / name, files[name], mode=0o644)
        said = f"{len(files)} charts of OpenStack-Helm {made.version}, {len(new)} of them new"
        self._display.display(f"[supply] {said}; in the site file write: openstack: {{charts: {target}}}")
        return {
            "changed": bool(new),
            "charts": sorted(files),
            "diff": {"before": "", "after": "".join(f"{target / name}\n" for name in new)},
            "msg": said,
        }

    def _build(self, given: dict[str, Any], site: Mapping[str, Any]) -> dict[str, Any]:
        """Return the artifacts, and which were built."""
        names, source, rebuild = given["names"], given["source"], given["rebuild"]
        lock = supply.load_lock(site.get("site"))
        if self._task.check_mode and (pending := supply.missing(names, source=source, rebuild=rebuild, lock=lock)):
            return self._predicted(lock.by(source).including(names), pending)
        artifacts = supply.ensure(
            names, progress=self._display.display, draw=self.draw if TERMINAL else None, source=source,
            rebuild=rebuild, lock=lock,
        )  # fmt: skip
        built = [artifact.name for artifact in artifacts.values() if artifact.built]
        return {
            "changed": bool(built),
            "built": built,
            "artifacts": {
                a.name: {"version": a.version, "kind": a.kind, "sha256": a.sha256, "path": str(a.path)}
                for a in artifacts.values()
            },
            "msg": f"{len(artifacts)} artifacts, {len(built)} made now",
        }

    def _predicted(self, lock: Lock, pending: Sequence[str]) -> dict[str, Any]:
        """Print and return what would be made of ``pending``; warn of what would be refused."""
        from ..plugin_utils.supply.forecast import forecast, told  # late: only a prediction needs the build's modules

        found = forecast(lock, pending)
        for line in told(lock, found):
            self._display.display(line)
        result = {"changed": True, "built": list(pending), "predicted": [asdict(one) for one in found]}
        if refused := [one.artifact for one in found if one.refused]:
            what = (
                f"a run would refuse {', '.join(refused)}: no digest is recorded; -e supply_resolve=true asks for them"
            )
            result["warnings"] = [what]
        return {**result, "msg": f"would be made: {', '.join(pending)}"}

    def _advisories(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return what is affected, failed when something is or is not known."""
        from ..plugin_utils.supply.advisories.report import report  # late: only this needs its libraries

        files = [Path(name).expanduser() for name in given["files"]]
        found = report(supply.load_lock(), files, names=given["names"], hosts=given["hosts"], silent=given["silent"])
        return {
            "changed": False,
            "failed": found.code != 0,
            "affected": found.rows(),
            "unknown": [asdict(one) for one in found.unknown],
            "msg": found.text(),
        }


def _unresolved(lost: Sequence[Resolution]) -> GroundupError:
    return GroundupError(
        f"{len(lost)} digests could not be asked: {'; '.join(one.line() for one in lost)}",
        where="supply.lock",
        why="what has no digest is not fetched; the others are recorded",
        remedy="reach their addresses (proxy, CA bundle), then run it again; or supply.images, or supply.source: build",
    )


def _holds(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content


@contextmanager
def _taken_from(checkout: str | None) -> Iterator[None]:
    """Have charts taken from the directory ``checkout``; None: from a clone. Raises GroundupError."""
    from ..plugin_utils.supply.builders.git_charts import CHECKOUT  # late: only this needs the builders

    os.environ.pop(CHECKOUT, None)
    if checkout and not Path(checkout).is_dir():
        raise OptionError(f"charts_checkout: there is no directory {checkout}")
    if checkout:
        os.environ[CHECKOUT] = str(Path(checkout).resolve())
    try:
        yield
    finally:
        os.environ.pop(CHECKOUT, None)
