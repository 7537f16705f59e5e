"""Action of module groundup.cloud.seed_node: first send the signed package repositories the seed is installed from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..module_utils._base.files import read
from ..plugin_utils import supply
from ..plugin_utils.actions import finish
from ..plugin_utils.errors import GroundupError
from ..plugin_utils.paths import state_dir
from ..plugin_utils.pki import openpgp
from ..plugin_utils.progress import no_progress
from ..plugin_utils.supply.cache.served import LAID_OUT, lay_out, served
from ..plugin_utils.supply.publish.sender import Sender
from ..plugin_utils.vault import open_store


class ActionModule(Sender):
    """Send missing package repositories before the module installs from them."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the module's result, including what was sent."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        return finish(result, lambda: self._converge(dict(self._task.args), task_vars or {}))

    def _converge(self, arguments: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        if seed := arguments.get("packages_seed"):
            directory = state_dir(arguments["site"])
            arguments["repositories"] = [self._repository(place, directory) for place in seed["places"].values()]
            arguments["packages_seed"] = {**seed, "key": read(directory / openpgp.FILE) or ""}
        done = self._module(arguments, task_vars)
        if done.get("failed") or not (lacking := done.get("lacking")):
            return done
        # Remove the old directory first; otherwise packages of former versions would pile up.
        self.command(["rm", "-rf", "--", *(f"{arguments['files_root']}/{place}" for place in lacking)], task_vars)
        self.send([served() / place for place in lacking], arguments["files_root"], task_vars)
        then = self._module(arguments, task_vars)
        if left := then.get("lacking"):
            raise GroundupError(
                f"sent, and not there whole: {', '.join(left)}",
                where=f"{arguments['files_root']} on the seed",
                why="hosts install packages from it, the seed first",
                remedy="see the seed's disk (df -h), then run this again",
            )
        return {
            **then,
            "changed": True,
            **{key: [*done.get(key, []), *then.get(key, [])] for key in ("changes", "diff")},
        }

    def _module(self, arguments: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        done: dict[str, Any] = self._execute_module(
            module_name="groundup.cloud.seed_node", module_args=arguments, task_vars=task_vars
        )
        return done

    def _repository(self, place: str, directory: Path) -> dict[str, str]:
        """Return the module's description of the repository at ``place``; build it and sign its list if needed."""
        name, check = place.partition("/")[0], bool(self._task.check_mode)
        missing = supply.missing(name)
        if check and missing:
            return {"place": place, "mark": LAID_OUT, "content": "not made yet", "release": "", "signed": ""}
        lay_out(served(), supply.ensure(name, progress=self._display.display if missing else no_progress)[name])
        home = served() / place
        (release,) = home.glob("dists/*/Release")
        text, kept = release.read_text(encoding="utf-8"), f"{name}.InRelease"
        signed = openpgp.signed_release(directory, kept, text)
        if signed is None and not check:
            signed = openpgp.sign_release(open_store(directory.name), directory, kept, text)
        return {
            "place": place,
            "mark": LAID_OUT,
            "content": (home / LAID_OUT).read_text(encoding="utf-8"),
            "release": str(release.with_name("InRelease").relative_to(home)),
            "signed": signed or "",
        }
