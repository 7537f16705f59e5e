"""Read a chart from its directory or archive: name, version, values, and the values that its templates use."""

from __future__ import annotations

import os
import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from .model.base import json_only

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_USED = re.compile(r"\.Values\b(?:((?:\.\w+)+)|((?:[ \t]+\"[^\"\n]+\")*))")  # the second: index .Values "a-key"
_LIBRARIES = ("helm-toolkit",)  # libraries that do not call themselves one
_LARGEST = 64 * 2**20  # bytes of a chart: Helm itself reads no larger ones into a release

Keys = dict[str, "Keys"]  # key -> keys below it


class ChartFileError(Exception):
    """No chart: the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartFile:
    """A chart, as far as its files tell."""

    name: str
    version: str
    values: dict[str, Any]  # its defaults
    used: tuple[tuple[str, ...], ...]  # ways of values that its templates name, and those of libraries in it
    charts: tuple[str, ...]  # keys of the charts in it, without libraries: their values are below them
    missing: tuple[str, ...]  # charts that it says it needs, and has not
    crds: bool = False  # whether it has kinds that Helm installs once, in no manifest

    @property
    def known(self) -> Keys:
        """Return the keys that have an effect."""
        below = dict[str, Keys]() if not self.charts else {name: {} for name in (*self.charts, "global", "tags")}
        found = merged(keys_of(self.values), below)
        for way in self.used:
            here = found
            for key in way:
                here = here.setdefault(key, {})
        return found


def read_chart(path: Path) -> ChartFile:
    """Return the chart at ``path``, a directory or a .tgz. Raises ChartFileError."""
    try:
        files = dict(_directory(path) if path.is_dir() else _archive(path.read_bytes()))
        return _chart(files)
    except FileNotFoundError as error:
        raise ChartFileError("there is no such file or directory") from error
    except (OSError, EOFError, tarfile.TarError, yaml.YAMLError) as error:
        raise ChartFileError(f"it cannot be read: {' '.join(str(error).split())}") from error


def find(charts: Path, chart: str, version: str) -> Path | None:
    """Return the archive or directory of a chart in the directory ``charts``, None when none has that version.

    A ``chart`` with a way to it is that file, whatever ``charts`` is.
    """
    own = charts / chart
    if "/" in chart and own.is_file():
        try:
            return own if same_version(read_chart(own).version, version) else None
        except ChartFileError:
            return None
    if "/" not in chart and (
        archives := sorted(charts.glob(f"{chart}-{version}.tgz")) or sorted(charts.glob(f"{chart}-{version}+*.tgz"))
    ):
        return archives[-1]
    try:
        said = yaml.load((own / "Chart.yaml").read_bytes(), Loader=_LOADER)  # noqa: S506  # safe
    except (FileNotFoundError, NotADirectoryError, yaml.YAMLError):
        return None
    return own if isinstance(said, dict) and same_version(str(said.get("version")), version) else None


def same_version(one: str, other: str) -> bool:
    """Return whether two versions are the same, build metadata aside."""
    return one.partition("+")[0] == other.partition("+")[0]


def read_values(path: Path) -> dict[str, Any]:
    """Return the values in a YAML file. Raises ChartFileError."""
    try:
        found = _yaml({path.name: path.read_text(encoding="utf-8")}, path.name)
        json_only(found)
    except FileNotFoundError as error:
        raise ChartFileError("there is no such file") from error
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ChartFileError(f"it cannot be read: {' '.join(str(error).split())}") from error
    return found


def keys_of(values: Any) -> Keys:
    return {str(key): keys_of(value) for key, value in values.items()} if isinstance(values, Mapping) else {}


def merged(one: Keys, other: Keys) -> Keys:
    return {key: merged(one.get(key, {}), other.get(key, {})) for key in {**one, **other}}


def _chart(files: Mapping[str, str]) -> ChartFile:
    about = _yaml(files, "Chart.yaml")
    values = _yaml(files, "values.yaml") if "values.yaml" in files else {}
    written = about.get("dependencies")
    needed = [one for one in written if isinstance(one, dict) and "name" in one] if isinstance(written, list) else []
    inside = {
        name.split("/")[1]: _yaml(files, name) for name in files if re.fullmatch(r"charts/[^/]+/Chart.yaml", name)
    }
    libraries = {name for name, one in inside.items() if one.get("type") == "library" or one.get("name") in _LIBRARIES}
    names = {str(one.get("name", name)) for name, one in inside.items()}
    return ChartFile(
        name=str(about.get("name", "")),
        version=str(about.get("version", "")),
        values=values,
        used=_used(files, ("templates/", *(f"charts/{name}/templates/" for name in libraries))),
        charts=tuple(sorted({*(str(one.get("alias") or one["name"]) for one in needed), *inside} - libraries)),
        missing=tuple(str(one["name"]) for one in needed if str(one["name"]) not in names),
        crds=any(re.match(r"(charts/[^/]+/)?crds/", name) for name in files),
    )


def _used(files: Mapping[str, str], places: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    texts = (text for name, text in files.items() if name.startswith(places))
    return tuple({
        (*filter(None, dotted.split(".")), *re.findall(r"\"([^\"]+)\"", indexed))
        for text in texts
        for dotted, indexed in _USED.findall(text)
    })  # fmt: skip


def _yaml(files: Mapping[str, str], name: str) -> dict[str, Any]:
    if name not in files:
        raise ChartFileError(f"it has no {name}")
    found = yaml.load(files[name], Loader=_LOADER)  # noqa: S506  # safe
    if found is not None and not isinstance(found, dict):
        raise ChartFileError(f"{name} is no mapping of keys to values")
    return found or {}


def _directory(path: Path) -> Iterator[tuple[str, str]]:
    total, seen = 0, set[str]()
    for home, below, names in os.walk(path, followlinks=True):
        seen.add(os.path.realpath(home))
        below[:] = [name for name in below if os.path.realpath(f"{home}/{name}") not in seen]
        for file in (Path(home) / name for name in sorted(names)):
            if file.is_file():
                total = _counted(total + file.stat().st_size)
                yield from _texts(file.relative_to(path).as_posix(), file.read_bytes())


def _archive(content: bytes) -> Iterator[tuple[str, str]]:
    with tarfile.open(fileobj=BytesIO(content)) as archive:
        total = 0
        for member in archive:
            stream = archive.extractfile(member) if member.isfile() else None
            if stream is None:
                continue
            total = _counted(total + member.size)
            yield from _texts("/".join(PurePosixPath(member.name).parts[1:]), stream.read())


def _counted(size: int) -> int:
    if size > _LARGEST:
        raise ChartFileError(f"it holds more than {_LARGEST >> 20} MiB")
    return size


def _texts(name: str, content: bytes) -> Iterator[tuple[str, str]]:
    """Yield the text of a file, or those in the archive of a chart in the chart."""
    if packed := re.fullmatch(r"(charts/[^/]+)\.tgz", name):
        yield from ((f"{packed[1]}/{inner}", text) for inner, text in _archive(content))
    else:
        yield name, content.decode(errors="replace")
