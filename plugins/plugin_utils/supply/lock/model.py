"""The model of ``supply.lock``: every artifact by name, its inputs, and where its project publishes it.

It has names, versions and digests, never a package mirror (``machine.py``). Builders read only their entry's ``inputs``
and its ``needs``, so that entry, builder's version and source files identify an artifact (``keys.py``).
"""

from __future__ import annotations

import graphlib
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from ...errors import GroundupError
from ...layers import mirror
from ...paths import COLLECTION

DEFAULT_PATH = COLLECTION / "supply.lock"
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
Kind = Literal["root", "files", "image"]
Source = Literal["build", "upstream"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class UpstreamFile(_Strict):
    """A file published by its project. ``digest`` is that of the URL's content; None: not recorded yet."""

    url: str
    digest: Digest | None
    member: str | None = None  # path inside the .tar.gz at the URL; None: the URL is the file itself


class Upstream(_Strict):
    """Where the same artifact is published: files by URL, or an image by reference."""

    files: dict[str, UpstreamFile] = {}  # file name in the artifact -> where it is published
    reference: str | None = None  # OCI reference without a digest: "host/repository:tag"
    digest: Digest | None = None  # of the reference's manifest

    @model_validator(mode="after")
    def _files_or_reference(self) -> Upstream:
        if bool(self.files) == bool(self.reference):
            raise ValueError("give either files or a reference")
        return self


class Entry(_Strict):
    """One artifact of the lock."""

    name: str
    kind: Kind  # a root file system (tar.zst), a directory of files, an OCI image archive
    version: str  # of the content
    serves: str | None = None  # name that hosts and the plan know it by, beside another version; None: its own
    builder: str  # the module in ``builders/`` that builds it
    needs: tuple[str, ...] = ()  # artifacts that must exist first
    groups: tuple[str, ...] = ()  # names that select several artifacts together
    inputs: dict[str, Any] = {}  # parameters of the builder, which defines their meaning
    provides: tuple[str, ...] = ()  # executables in ``files`` that the controller itself may run (``supply.tool``)
    image: str | None = None  # repository and tag below the site's registry, of an image
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None  # of a bit-for-bit reproducible build
    cost: float = 1.0  # CPU seconds of a build without caches: order and expected time of a first run
    upstream: Upstream | None = None  # where its project publishes the same artifact
    optional: bool = False  # selected only by name or group, not by default

    @property
    def family(self) -> str:
        """Name that hosts and the plan know it by: several versions of one family are served side by side."""
        return self.serves or self.name

    @model_validator(mode="after")
    def _fetched_has_an_address(self) -> Entry:
        if self.builder == "upstream" and self.upstream is None:
            raise ValueError("what is not built here needs `upstream`: where it is published")
        return self

    @model_validator(mode="after")
    def _image_has_a_name(self) -> Entry:
        if (self.kind == "image") != bool(self.image):
            raise ValueError("an artifact of kind image, and no other, has `image: repository:tag`")
        if self.image and self.image.rpartition(":")[2] in ("", "latest", self.image):
            raise ValueError(f"image {self.image} needs a tag, and not `latest`")
        return self


class Pins(_Strict):
    """Versions that several builders share."""

    suite: str  # Debian suite of every build root and image
    go: str  # Go toolchain, obtained as a module by the suite's own Go: "go1.26.8"
    epoch: int  # seconds since 1970: the time stamp of every file and image built here


class Lock(_Strict):
    """The whole file."""

    format: Literal[1]
    pins: Pins
    artifacts: dict[str, Entry]

    @model_validator(mode="before")
    @classmethod
    def _names_into_entries(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("artifacts"), dict):
            named = {
                name: {"name": name, **entry} if isinstance(entry, dict) else entry
                for name, entry in data["artifacts"].items()
            }
            return {**data, "artifacts": named}
        return data

    @model_validator(mode="after")
    def _graph_is_sound(self) -> Lock:
        for name, entry in self.artifacts.items():
            for need in entry.needs:
                if need not in self.artifacts:
                    raise ValueError(f"{name} needs {need}, which is not in the lock")
        try:
            graphlib.TopologicalSorter({name: entry.needs for name, entry in self.artifacts.items()}).prepare()
        except graphlib.CycleError as error:
            raise ValueError("artifacts need each other in a circle: " + " > ".join(error.args[1])) from error
        served: dict[tuple[str, str], str] = {}
        for name, entry in self.artifacts.items():
            if entry.serves and entry.serves not in self.artifacts:
                raise ValueError(f"{name} serves {entry.serves}, which is not in the lock")
            if served.setdefault((entry.family, entry.version), name) != name:
                other = served[entry.family, entry.version]
                raise ValueError(f"{name} and {other} serve one version of {entry.family}")
        for group in self.groups:
            if group in self.artifacts:
                raise ValueError(f"{group} names both a group and an artifact")
        return self

    @cached_property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Group name -> the artifacts in it, in the order of the file."""
        found: dict[str, list[str]] = {}
        for name, entry in self.artifacts.items():
            for group in entry.groups:
                found.setdefault(group, []).append(name)
        return {group: tuple(names) for group, names in found.items()}

    def by(self, source: Source) -> Lock:
        """Return the lock as ``source`` reads it.

        ``upstream``: published artifacts are fetched, by the builder of that name; the rest is built. ``build``: only
        artifacts that cannot be built are fetched. In both cases the digests are part of the entry's inputs, and so of
        its key.
        """
        fetched = {
            name: entry.model_copy(
                update={"builder": "upstream", "needs": (), "inputs": entry.upstream.model_dump(), "sha256": None}
            )
            for name, entry in self.artifacts.items()
            if entry.upstream is not None and (source == "upstream" or entry.builder == "upstream")
        }
        return self.model_copy(update={"artifacts": {**self.artifacts, **fetched}})

    def including(self, names: str | Iterable[str] | None) -> Lock:
        """Return the lock plus the variants and the mirrored images in ``names``.

        "machine-13+bnx2x" is machine-13 with firmware-bnx2x; names of mirrored images are those of `layers.mirror`.
        """
        variants = dict[str, Entry]()
        for name in [names] if isinstance(names, str) else names or ():
            if reference := mirror.reference_of(name):
                variants[name] = _mirrored(name, reference)
                continue
            base, *firmware = name.split("+")
            entry = self.artifacts.get(base)
            if firmware and entry and entry.builder == "boot_image":
                inputs = {**entry.inputs, "firmware": [f"firmware-{one}" for one in firmware]}
                variants[name] = entry.model_copy(update={"name": name, "inputs": inputs, "groups": ()})
        return self.model_copy(update={"artifacts": {**self.artifacts, **variants}}) if variants else self

    def select(self, names: str | Iterable[str] | None) -> tuple[str, ...]:
        """Return the artifacts that ``names`` selects (artifacts, groups; None: all but optional), without needs."""
        if names is None:
            return tuple(name for name, entry in self.artifacts.items() if not entry.optional)
        chosen: dict[str, None] = {}
        for name in [names] if isinstance(names, str) else names:
            if name in self.artifacts:
                chosen[name] = None
            elif name in self.groups:
                chosen.update(dict.fromkeys(self.groups[name]))
            else:
                known = ", ".join([*self.groups, *self.artifacts])
                raise GroundupError(
                    f"no artifact or group is called {name!r}",
                    where="supply.lock",
                    why="only what the lock names can be built or served",
                    remedy=f"one of: {known}",
                )
        return tuple(chosen)

    def published(self, images: Mapping[str, str], *, registry: str) -> tuple[str, ...]:
        """Return the artifact of each of ``images``, references by name: a release or version may have its own."""
        places = {f"{registry}/{entry.image}": name for name, entry in self.artifacts.items() if entry.image}
        return tuple(places.get(reference, name) for name, reference in images.items())

    def closure(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return ``names`` and everything they need, needs first."""
        found: dict[str, None] = {}

        def visit(name: str) -> None:
            if name not in found:
                for need in self.artifacts[name].needs:
                    visit(need)
                found[name] = None

        for name in names:
            visit(name)
        return tuple(found)


def _mirrored(name: str, reference: str) -> Entry:
    """Return the entry of an image that is copied by its digest."""
    tagged, _, digest = reference.partition("@")
    upstream = Upstream(reference=tagged, digest=digest)
    return Entry(
        name=name, kind="image", version=tagged.rpartition(":")[2], builder="upstream", upstream=upstream,
        inputs=upstream.model_dump(), image=mirror.image(reference), optional=True, cost=10.0,
    )  # fmt: skip


def load_lock(path: Path = DEFAULT_PATH) -> Lock:
    """Read and check the lock. Raises GroundupError naming the file and the key at fault."""
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), Loader=_LOADER)  # noqa: S506 - safe, and ten times as fast
        return Lock.model_validate(data).by("build")
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise _unreadable(path, str(error)) from error
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "the file"
        raise _unreadable(path, f"{key}: {first['msg']}") from error


def _unreadable(path: Path, what: str) -> GroundupError:
    return GroundupError(
        f"the lock cannot be used: {' '.join(what.split())}",
        where=str(path),
        why="every artifact comes from what the lock says",
        remedy="correct the file, or restore it from version control",
    )
