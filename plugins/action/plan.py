"""Action of module groundup.cloud.plan: plan a site, print the findings and write the plan."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar

from ..module_utils._base.files import write_file
from ..plugin_utils import former_plan, site_identity, state_format
from ..plugin_utils.actions import DocumentedAction, ended
from ..plugin_utils.compose import with_values
from ..plugin_utils.errors import GroundupError
from ..plugin_utils.monitoring.dashboards import grafana_files
from ..plugin_utils.monitoring.files import ROUTING, WRITTEN, files
from ..plugin_utils.paths import state_dir
from ..plugin_utils.plan import Plan, SiteError, defaults, load_site, make_plan, to_json
from ..plugin_utils.plan.output.compared import document, ordered
from ..plugin_utils.plan.output.compared import table as comparison_table
from ..plugin_utils.plan.output.differences import differences
from ..plugin_utils.plan.output.differences import files as file_differences
from ..plugin_utils.plan.output.packets import packets_svg
from ..plugin_utils.plan.output.query import answer
from ..plugin_utils.plan.output.report import count, defaults_text, resources_text, summary, table
from ..plugin_utils.plan.output.topology import topology_svg
from ..plugin_utils.plan.output.zone import zone
from ..plugin_utils.supply.publish import snapshots


class ActionModule(DocumentedAction):
    """Plan a site; fail on findings that must stop every layer."""

    RULES: ClassVar[dict[str, Any]] = {"mutually_exclusive": [("against", "query"), ("against", "output")]}

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the findings and files; fail if the site must not be built."""
        try:
            site = load_site(given["site_file"])
            plan = with_values(make_plan(site))
            if not given["output"]:
                site_identity.refuse_other(plan, self.variables.get("site_force") or ())
        except SiteError as error:
            return {"failed": True, "msg": str(error), "findings": [], "hosts": 0}
        if given["query"] is not None:
            found = answer(json.loads(to_json(plan)), given["query"])
            self._display.display(found.text)
            return {"changed": False, "answer": found.value}
        if given["against"]:
            return self._compare(plan, given)
        counted = count(plan.findings)
        refused = counted["error"] + (counted["warning"] if given["strict"] else 0)
        if plan.findings:
            self._display.display(table(plan.findings))
        if plan.resources:
            self._display.display(f"resources of the cloud: {resources_text(plan.resources)}")
        if known := snapshots.load(plan.site) if plan.supply.packages else {}:
            self._display.display(f"snapshots of OS packages: {snapshots.told(known)}")
        in_effect = defaults(site, plan)
        self._display.display(defaults_text(in_effect))
        result: dict[str, Any] = {
            "findings": [asdict(finding) for finding in plan.findings],
            "hosts": len(plan.hosts),
            "counts": counted,
            "defaults": in_effect,
            "changed": False,
            "files": [],
        }
        # A refused plan must not replace the current one; in a separate output directory it is only for reading.
        if given["output"] or not refused:
            directory = Path(given["output"]) if given["output"] else state_dir(plan.site)
            try:
                if not (given["output"] or self.changes.check):
                    state_format.adopt(directory)
                result |= self._write(plan, directory)
            except OSError as error:
                return {**result, "failed": True, "msg": f"{error.filename or directory}: {error.strerror}"}
        if result["files"] and not self.changes.check:
            self._display.display("\n".join(["written:", *(f"  {path}" for path in result["files"])]))
        result["msg"] = f"{plan.site}: {len(plan.hosts)} host{'s' * (len(plan.hosts) != 1)}, {summary(plan.findings)}"
        if refused:
            result["failed"] = True
            result["msg"] += ". Correct the site file: nothing is built from this plan"
        return result

    def _compare(self, plan: Plan, given: dict[str, Any]) -> dict[str, Any]:
        """Print what differs from a former plan, and end with the exit code that it has."""
        try:
            former = former_plan.read(Path(given["against"]), plan, Path(given["site_file"]))
        except (GroundupError, OSError) as error:
            return ended(str(error), unknown=True)
        rows = differences(former.content, json.loads(to_json(plan)))
        if former.files is not None:
            rows += file_differences(former.files, former_plan.beside(_wanted(plan, Path()), Path()))
        rows, errors = ordered(rows), count(plan.findings)["error"]
        found = document(plan.site, given["against"], rows)
        self._display.display(json.dumps(found, indent=2) if given["report"] == "json" else comparison_table(rows))
        broken = f"; nothing is built from this plan: {errors} error{'s' * (errors != 1)}" if errors else ""
        return ended(f"{found['summary']}{broken}", broken=bool(rows or errors)) | {"comparison": found}

    def _write(self, plan: Plan, directory: Path) -> dict[str, Any]:
        """Write the files that differ, or only report them in check mode."""
        diffs, changed = [], False
        wanted = _wanted(plan, directory)
        watched = directory / "monitoring"
        for path, text in wanted.items():
            before = path.read_text() if path.is_file() else ""
            if before == text:
                continue
            changed = True
            if path.suffix not in (".svg", ".html"):  # a diff of a picture's text helps nobody
                diffs.append({"before_header": str(path), "after_header": str(path), "before": before, "after": text})
            if not self._task.check_mode:
                directory.mkdir(parents=True, exist_ok=True, mode=0o700)
                # The address of a webhook may let whoever knows it send messages.
                write_file(path, text.encode(), mode=0o600 if path.name == ROUTING else 0o644)
        for path in sorted({path for pattern in WRITTEN for path in watched.glob(pattern)} - wanted.keys()):
            changed = True
            diffs.append({"before_header": str(path), "before": path.read_text(), "after_header": "", "after": ""})
            if not self._task.check_mode:
                path.unlink()
        return {"changed": changed, "files": [str(path) for path in wanted], **({"diff": diffs} if diffs else {})}


def _wanted(plan: Plan, directory: Path) -> dict[Path, str]:
    """Return the files of a plan, by their paths below ``directory``."""
    wanted = {
        directory / "plan.json": to_json(plan),
        directory / "topology.svg": topology_svg(plan),
        directory / "dns.zone": zone(plan),
    }
    if packets := packets_svg(plan):
        wanted[directory / "packets.svg"] = packets
    watched = files(plan) | grafana_files(plan)
    return wanted | {directory / "monitoring" / path: text for path, text in watched.items()}
