"""Action of module groundup.cloud.supply_publish: send missing artifacts to the seed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..module_utils._base.wait import wait_until
from ..plugin_utils import supply
from ..plugin_utils.actions import documented, finish
from ..plugin_utils.errors import GroundupError
from ..plugin_utils.layers.layers import FIRST_CONTACT
from ..plugin_utils.paths import cache_dir
from ..plugin_utils.progress import Progress, no_progress, reminder
from ..plugin_utils.supply.cache.served import LAID_OUT, lay_out, served
from ..plugin_utils.supply.publish import digests
from ..plugin_utils.supply.publish.digests import PublishedDigests
from ..plugin_utils.supply.publish.http import ask, end_of_certificate
from ..plugin_utils.supply.publish.images import Way, push
from ..plugin_utils.supply.publish.sender import Sender, failed, name_of
from ..plugin_utils.supply.publish.tunnel import ssh_command, tunnel

WARN_DAYS = 30  # left of the web server's certificate; a run renews it long before


class ActionModule(Sender):
    """Compare artifacts by digest, and send those that differ."""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the images and files sent."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(documented(__name__))
        return finish(result, lambda: self._publish(arguments, task_vars or {}))

    def _publish(self, arguments: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        check, site, source = bool(self._task.check_mode), arguments["site"], arguments["source"]
        lock = supply.load_lock()
        names = arguments["files"]
        if names is None:
            names = [name for name, entry in lock.artifacts.items() if entry.kind == "files" and not entry.optional]
        names = [*names, *arguments["packages"]]
        lock = lock.including(names)
        wanted = lock.select([*arguments["images"], *names])
        unmade = set(supply.missing(wanted, source=source)) if check or arguments["verify"] else set()
        if arguments["verify"] and unmade:
            raise GroundupError(
                f"the cache lacks {', '.join(name for name in wanted if name in unmade) or ', '.join(unmade)}",
                where=str(cache_dir()),
                why="what is served is compared with it, and a question builds nothing",
                remedy="run the playbook groundup.cloud.supply, which makes it",
            )
        made = supply.ensure(
            [name for name in wanted if name not in unmade], progress=self._display.display, source=source, lock=lock
        )
        images = [artifact for artifact in made.values() if artifact.kind == "image"]
        programs = [artifact for artifact in made.values() if artifact.kind == "files"]
        for artifact in programs:
            lay_out(served(), artifact)
        places = [served() / artifact.name / artifact.version for artifact in programs]

        before = digests.load(site) or PublishedDigests()
        record = before.updated(PublishedDigests.of(images, places, root=served()))
        if check:
            entries = [lock.artifacts[name] for name in unmade]
            record = record.without(
                images=[entry.image for entry in entries if entry.image],
                files=[f"{entry.name}/{entry.version}" for entry in entries],
            )
        result: dict[str, Any] = {"changed": True, "images": [], "files": [], "published": record.plain()}
        if check and (lacks := [name for name in wanted if name in unmade]):
            return {**result, "msg": f"not made yet: {', '.join(lacks)}"}
        nothing = {"images": arguments["images"], "files": names, "msg": "nothing is served yet"}
        first = FIRST_CONTACT in task_vars.get("group_names", ())
        if check and first and self._connection.get_option("password"):
            return result | nothing  # the site's key is not there yet either, and the tunnel cannot use a password
        with self._way(arguments) as way:
            if check and _get(f"https://{way.reads}/v2/", ca=way.ca) is None:
                return result | nothing
            result |= self._converge(arguments, task_vars, way, images=images, places=places)
        result["changed"] = not arguments["verify"] and bool(result["images"] or result["files"] or record != before)
        if result["changed"] and not check:
            digests.save(site, record)
        return result

    def _converge(
        self, arguments: dict[str, Any], task_vars: dict[str, Any], way: Way, *, images: list[supply.Artifact],
        places: list[Path],
    ) -> dict[str, Any]:  # fmt: skip
        """Send what the seed lacks, then compare everything it serves. A dry run and verify send nothing."""
        check, verify, registry = bool(self._task.check_mode), arguments["verify"], arguments["registry"]
        _wait_for(f"https://{way.reads}/v2/", ca=way.ca, progress=self._display.display)
        lacking = _lacking(way, places)
        if not (check or verify):
            self.send(lacking, arguments["files_root"], task_vars)
            # tar does not detect an archive truncated between two members.
            _refuse(_lacking(way, lacking), "sent, and not served whole:", arguments["files_url"])
        pushed = push(registry, images, progress=self._display.display, dry_run=check or verify, way=way)
        missing = [image.reference for image in pushed if image.changed]
        done = {
            "images": missing,
            "files": [name_of(place) for place in lacking],
            "msg": f"{len(missing)} images and {len(lacking)} file artifacts",
        }
        if check:
            return done
        where = f"{registry}, {arguments['files_url']}"
        if verify:
            _refuse([*missing, *lacking], "the seed does not serve", where)
            days = (end_of_certificate(way.reads, ca=way.ca) - time.time()) / 86400
            if days < WARN_DAYS:
                done["warnings"] = [f"the seed's certificate ends in {days:.0f} days: groundup.cloud.seed renews it"]
        elif missing:
            again = push(registry, images, progress=self._display.display, dry_run=True, way=way)
            _refuse([image.reference for image in again if image.changed], "the seed does not serve", where)
        self._verify_content(PublishedDigests.of([], places, root=served()).files, arguments["files_root"], task_vars)
        return done

    @contextmanager
    def _way(self, arguments: Mapping[str, Any]) -> Iterator[Way]:
        """Open an ssh tunnel to the seed's services on its loopback."""
        ports = (arguments["registry"].rpartition(":")[2], urlsplit(arguments["files_url"]).port)
        ssh = ssh_command(self._connection.get_option, transport=self._connection.transport)
        with tunnel(ssh, arguments["registry_inside"], *(f"127.0.0.1:{port}" for port in ports)) as (into, *shown):
            yield Way(writes=into, reads=shown[0], files=shown[1], ca=arguments["ca_certificate"])

    def _verify_content(self, files: Mapping[str, str], root: str, task_vars: dict[str, Any]) -> None:
        """Have the host compare every file it serves with the digest of the record."""
        wanted = "".join(f"{digest}  {name}\n" for name, digest in sorted(files.items()))
        check = ["sha256sum", "--check", "--strict", "--quiet"]
        done = self.command(check, task_vars, chdir=root, stdin=wanted, stdin_add_newline=False)
        if not done.get("failed"):
            return
        wrong = [line.partition(": FAILED")[0] for line in done.get("stdout", "").splitlines() if ": FAILED" in line]
        if not wrong:
            raise failed(done)
        places = sorted({"/".join(name.split("/")[:2]) for name in wrong})
        raise GroundupError(
            f"not as published: {', '.join(wrong[:5])}" + (f" and {len(wrong) - 5} more" if len(wrong) > 5 else ""),
            where=f"{root} on the seed",
            why="hosts would refuse it, or run something else",
            remedy=f"remove {', '.join(places)} there and run the playbook groundup.cloud.seed again",
        )


def _lacking(way: Way, places: list[Path]) -> list[Path]:
    """Return those of ``places`` that the host lacks or serves differently, by the marker file that is sent last."""
    return [
        place
        for place in places
        if _get(f"https://{way.files}/{name_of(place)}/{LAID_OUT}", ca=way.ca) != (place / LAID_OUT).read_bytes()
    ]


def _get(url: str, *, ca: str) -> bytes | None:
    """Return the content of ``url``, None if there is none or no answer."""
    with suppress(OSError):
        status, _, content = ask(url, ca=ca)
        return content if status == HTTPStatus.OK else None
    return None


def _wait_for(url: str, *, ca: str, seconds: float = 60, progress: Progress = no_progress) -> None:
    """Wait until ``url`` answers; a service that was just started needs a moment."""
    with reminder(progress, f"[publish] waiting for {url}"):
        silent = wait_until(lambda: _get(url, ca=ca) is None, timeout=seconds, pause=0.2)
    if silent:
        raise GroundupError(
            f"no registry answers within {seconds:g} s",
            where=url,
            why="images cannot be served to the site",
            remedy="on the seed: systemctl status docker-registry nginx",
        )


def _refuse(lacking: Sequence[str | Path], what: str, where: str) -> None:
    if lacking:
        names = [name_of(each) if isinstance(each, Path) else each for each in lacking]
        raise GroundupError(
            f"{what} {', '.join(names)}",
            where=where,
            why="hosts have no other place to get it from, and nothing was recorded as published",
            remedy="run the playbook groundup.cloud.seed; if it ends here again: the seed's disk, registry, web server",
        )
