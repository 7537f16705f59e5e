"""Action of module groundup.cloud.seed: send what the seed lacks, and keep the record of what it serves."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..module_utils._base.files import read
from ..module_utils._seed.configuration import ports
from ..plugin_utils import supply
from ..plugin_utils.actions import StepAction
from ..plugin_utils.errors import GroundupError
from ..plugin_utils.layers.layers import FIRST_CONTACT
from ..plugin_utils.paths import cache_dir, state_dir
from ..plugin_utils.pki import openpgp
from ..plugin_utils.progress import no_progress
from ..plugin_utils.site_proxy import fetching
from ..plugin_utils.supply.cache.served import LAID_OUT, lay_out, served
from ..plugin_utils.supply.publish import digests, snapshots
from ..plugin_utils.supply.publish.digests import PublishedDigests
from ..plugin_utils.supply.publish.http import content_of, end_of_certificate, wait_for
from ..plugin_utils.supply.publish.images import Way, push
from ..plugin_utils.supply.publish.sender import Sender, failed, name_of
from ..plugin_utils.supply.publish.tunnel import ssh_command, tunnel
from ..plugin_utils.vault import open_store

WARN_DAYS = 30  # left of the web server's certificate; a run renews it long before


class ActionModule(StepAction, Sender):
    """Converge on the host, which first gets the packages it is installed from; publish and verify from here."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        return self._converge(given) if given["step"] == "converge" else self._publish(given)

    def _converge(self, given: dict[str, Any]) -> dict[str, Any]:
        given["repositories"] = []
        if seed := given["packages_seed"]:
            directory, record = state_dir(given["site"]), snapshots.load(given["site"])
            given["repositories"] = [self._repository(path, directory, record) for path in seed["places"].values()]
            seed["places"] = snapshots.places(record, seed["places"])
            seed["key"] = read(directory / openpgp.FILE) or ""
        done = self._received(given)
        if not given["repositories"] or done.get("failed"):
            return done
        if not self.changes.check:
            snapshots.save(given["site"], record)
        return done | {"snapshots": snapshots.plain(record)}

    def _received(self, given: dict[str, Any]) -> dict[str, Any]:
        """Converge the host, and send the repositories that it lacks."""
        done = super().work(given)
        if done.get("failed") or not (lacking := done.get("lacking")):
            return done
        # Remove what a killed run sent first: a file of it may be half.
        self.command(["rm", "-rf", "--", *(f"{given['files_root']}/{place}" for place in lacking)])
        self.send([served() / place for place in lacking], given["files_root"])
        then = super().work(given)
        if left := then.get("lacking"):
            raise GroundupError(
                f"sent, and not there whole: {', '.join(left)}",
                where=f"{given['files_root']} on the seed",
                why="hosts install packages from it, the seed first",
                remedy="see the seed's disk (df -h), then run this again",
            )
        return {
            **then,
            "changed": True,
            **{key: [*done.get(key, []), *then.get(key, [])] for key in ("changes", "diff")},
        }

    def _repository(self, path: str, directory: Path, record: dict[str, list[snapshots.Snapshot]]) -> dict[str, str]:
        """Return the module's description of the repository at the plan's ``path``, and put its snapshot on record.

        Build it and sign its list if needed.
        """
        name, check = path.partition("/")[0], self.changes.check
        missing = supply.missing(name)
        if check and missing:
            content = {"content": "not made yet", "release": "", "signed": ""}
            return {"path": path, "place": path, "former": "", "mark": LAID_OUT, **content}
        with fetching(self.variables.get("groundup_site")):
            made = supply.ensure(name, progress=self._display.display if missing else no_progress)
        known = record.get(path, [])
        snapshot = snapshots.snapshot_of(made[name], known)
        record[path] = snapshots.using(known, snapshot)
        lay_out(served(), made[name], directory=snapshot.name)
        place = snapshots.place(path, snapshot)
        home = served() / place
        (release,) = home.glob("dists/*/Release")
        text, kept = release.read_text(encoding="utf-8"), f"{name}.InRelease"
        signed = openpgp.signed_release(directory, kept, text)
        if signed is None and not check:
            signed = openpgp.sign_release(open_store(directory.name), directory, kept, text)
        return {
            "path": path,
            "place": place,
            "former": "".join(one.name for one in record[path][1:]),
            "mark": LAID_OUT,
            "content": (home / LAID_OUT).read_text(encoding="utf-8"),
            "release": str(release.with_name("InRelease").relative_to(home)),
            "signed": signed or "",
        }

    def _publish(self, given: dict[str, Any]) -> dict[str, Any]:
        check, verify, source = self.changes.check, given["step"] == "verify", given["source"]
        lock = supply.load_lock(given["site"]).including(given["images"])
        names = given["files"]
        if names is None:
            names = [name for name, entry in lock.artifacts.items() if entry.kind == "files" and not entry.optional]
        names = [*names, *given["optional_files"]]
        lock = lock.including(names)
        wanted = lock.select([*lock.published(given["images"], registry=given["registry"]), *names])
        unmade = set(supply.missing(wanted, source=source, lock=lock)) if check or verify else set()
        if verify and unmade:
            raise GroundupError(
                f"the cache lacks {', '.join(name for name in wanted if name in unmade) or ', '.join(unmade)}",
                where=str(cache_dir()),
                why="what is served is compared with it, and a question builds nothing",
                remedy="run the playbook groundup.cloud.supply, which makes it",
            )
        there = [name for name in wanted if name not in unmade]
        with fetching(self.variables.get("groundup_site")):
            made = supply.ensure(there, progress=self._display.display, source=source, lock=lock)
        images = [artifact for artifact in made.values() if artifact.kind == "image"]
        programs = [artifact for artifact in made.values() if artifact.kind == "files"]
        known = snapshots.load(given["site"])
        places = [self._laid_out(artifact, known) for artifact in programs]

        before = digests.load(given["site"]) or PublishedDigests()
        # Of repositories, the record has the snapshot in use.
        record = before.without(images=(), files=[path.partition("/")[0] for path in known])
        record = record.updated(PublishedDigests.of(images, places, root=served()))
        if check:
            entries = [lock.artifacts[name] for name in unmade]
            record = record.without(
                images=[entry.image for entry in entries if entry.image],
                files=[f"{entry.family}/{entry.version}" for entry in entries],
            )
        result: dict[str, Any] = {"changed": True, "images": [], "files": [], "published": record.plain()}
        if check and (lacks := [name for name in wanted if name in unmade]):
            return {**result, "not_known": True, "msg": f"not made yet: {', '.join(lacks)}"}
        nothing = {"images": [*given["images"].values()], "files": names, "msg": "nothing is served yet"}
        first = FIRST_CONTACT in self.variables.get("group_names", ())
        if check and first and self._connection.get_option("password"):
            return result | nothing  # the site's key is not there yet either, and the tunnel cannot use a password
        with self._way(given) as way:
            if check and content_of(f"https://{way.reads}/v2/", ca=way.ca) is None:
                return result | nothing
            result |= self._sent(given, way, images=images, places=places)
        result["changed"] = not verify and bool(result["images"] or result["files"] or record != before)
        if result["changed"] and not check:
            digests.save(given["site"], record)
        return result

    def _laid_out(self, artifact: supply.Artifact, known: snapshots.Record) -> Path:
        """Lay out ``artifact``, a repository of packages by its snapshot; return its directory."""
        path = str(artifact.place)
        snapshot = snapshots.snapshot_of(artifact, known[path]).name if path in known else artifact.version
        lay_out(served(), artifact, directory=snapshot)
        return served() / artifact.place.with_name(snapshot)

    def _sent(
        self, given: Mapping[str, Any], way: Way, *, images: list[supply.Artifact], places: list[Path]
    ) -> dict[str, Any]:
        """Send what the seed lacks, then compare everything it serves. A dry run and verify send nothing."""
        check, verify, registry = self.changes.check, given["step"] == "verify", given["registry"]
        wait_for(f"https://{way.reads}/v2/", ca=way.ca, progress=self._display.display)
        lacking = _lacking(way, places)
        if not (check or verify):
            self.send(lacking, given["files_root"])
            # tar does not detect an archive truncated between two members.
            _refuse(_lacking(way, lacking), "sent, and not served whole:", given["files_url"])
        pushed = push(registry, images, progress=self._display.display, dry_run=check or verify, way=way)
        missing = [image.reference for image in pushed if image.changed]
        done = {
            "images": missing,
            "files": [name_of(place) for place in lacking],
            "msg": f"{len(missing)} images and {len(lacking)} file artifacts",
        }
        if check:
            return done
        where = f"{registry}, {given['files_url']}"
        if verify:
            _refuse([*missing, *lacking], "the seed does not serve", where)
            days = (end_of_certificate(way.reads, ca=way.ca) - time.time()) / 86400
            if days < WARN_DAYS:
                done["warnings"] = [f"the seed's certificate ends in {days:.0f} days: groundup.cloud.seed renews it"]
        elif missing:
            again = push(registry, images, progress=self._display.display, dry_run=True, way=way)
            _refuse([image.reference for image in again if image.changed], "the seed does not serve", where)
        self._verify_content(PublishedDigests.of([], places, root=served()).files, given["files_root"])
        return done

    @contextmanager
    def _way(self, given: Mapping[str, Any]) -> Iterator[Way]:
        """Open an ssh tunnel to the seed's services on its loopback."""
        ssh = ssh_command(self._connection.get_option, transport=self._connection.transport)
        read_only = (f"127.0.0.1:{port}" for port in ports(given).values())
        with tunnel(ssh, given["registry_inside"], *read_only) as (into, *shown):
            yield Way(writes=into, reads=shown[0], files=shown[1], ca=given["ca_certificate"])

    def _verify_content(self, files: Mapping[str, str], root: str) -> None:
        """Have the host compare every file it serves with the digest of the record."""
        wanted = "".join(f"{digest}  {name}\n" for name, digest in sorted(files.items()))
        check = ["sha256sum", "--check", "--strict", "--quiet"]
        done = self.command(check, chdir=root, stdin=wanted, stdin_add_newline=False)
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
        if content_of(f"https://{way.files}/{name_of(place)}/{LAID_OUT}", ca=way.ca) != (place / LAID_OUT).read_bytes()
    ]


def _refuse(lacking: Sequence[str | Path], what: str, where: str) -> None:
    if lacking:
        names = [name_of(each) if isinstance(each, Path) else each for each in lacking]
        raise GroundupError(
            f"{what} {', '.join(names)}",
            where=where,
            why="hosts have no other place to get it from, and nothing was recorded as published",
            remedy="run the playbook groundup.cloud.seed; if it ends here again: the seed's disk, registry, web server",
        )
