"""Load the site model from a file or plain data. Each fault has its key path, reason and remedy."""

from __future__ import annotations

import re
import types
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from ..errors import Problem, SiteError
from ..form import choose
from ..model import Site
from ..model.cloud import merged
from ..model.cloud_types import CLOUD_FILE
from ..model.site import NamedFile
from . import field_changes
from .reader import named_files, parse_yaml, read_file

MAX_PROBLEMS = 20  # more than an operator corrects in one go


def load_site(path: str | Path) -> Site:
    """Return the site in the file at ``path``. Raises SiteError, and nothing else whatever the content."""
    content = read_file(path)
    data = parse_yaml(content, file=str(path))
    more = _more(path, data)
    site = build_site(data, file=str(path), content=content)
    return with_files(site, {**more, **named_files(path, site.named_files)}, now=datetime.now(UTC))


def _more(path: str | Path, data: dict[str, Any]) -> dict[str, NamedFile]:
    """Put what the files of `cloud.files` say into ``data``; return the files. Raises SiteError."""
    cloud = data.get("cloud")
    names = cloud.get("files") if isinstance(cloud, dict) else None
    if not isinstance(names, list) or not all(isinstance(one, str) and re.fullmatch(CLOUD_FILE, one) for one in names):
        return {}  # the model says what is wrong, if anything is
    found = named_files(path, names)
    for name, file in found.items():
        problem = Problem(key="cloud.files", reason=f"{name} {file.fault}", remedy="put it beside the site file")
        if file.fault:
            raise SiteError(problem, file=str(path))
        try:
            data["cloud"] = merged(data["cloud"], parse_yaml(file.text.encode(), file=str(Path(path).parent / name)))
        except ValueError as error:
            if isinstance(error, SiteError):
                raise
            reason = f"{error} is there already, or is no mapping"
            raise SiteError(replace(problem, key=name, reason=reason, remedy="keep one"), file=str(path)) from error
    return found


def with_files(site: Site, files: Mapping[str, NamedFile], *, now: datetime) -> Site:
    """Return ``site`` with the files that it names, as they were ``now``."""
    site._files, site._now = files, now
    return site


def parse_site(content: bytes, *, file: str = "<site>") -> Site:
    """Return the site in the YAML text ``content``. Raises as `load_site`."""
    return build_site(parse_yaml(content, file=file), file=file, content=content)


def build_site(data: dict[str, Any], *, file: str = "<site>", content: bytes = b"") -> Site:
    """Return the site described by plain ``data``. Raises as `load_site`.

    Errors name ``file``, and take line numbers from ``content``, the text that ``data`` was read from.
    """
    try:
        site = Site.model_validate(data)
    except ValidationError as error:
        problems: dict[str, Problem] = {}
        for detail in error.errors(include_url=False):
            problem = _problem(dict(detail), data)
            problems.setdefault(problem.key, problem)  # a union reports an error per choice: keep the first
        raise SiteError(*list(problems.values())[:MAX_PROBLEMS], file=file, content=content) from error
    site._file, site._content = file, content
    return site


def _problem(detail: dict[str, Any], data: dict[str, Any]) -> Problem:
    location: tuple[str | int, ...] = detail["loc"]
    kind: str = detail["type"]
    if kind == "extra_forbidden":
        key = _key(location)
        remedy = field_changes.remedy(key) or choose(str(location[-1]), _fields_at(location[:-1]))
        return Problem(key=key, reason="unknown key", remedy=remedy)
    if kind == "missing":
        reason = "required, and not written"
        return Problem(key=_key(location), reason=reason, remedy=f"write it: {_description(location)}")
    location = _written(location, data)
    key, value = _key(location), detail["input"]
    if kind == "literal_error":
        expected = str(detail.get("ctx", {}).get("expected", ""))
        choices = [word.strip("'") for word in expected.replace(" or ", ", ").split(", ")]
        reason = f"{_shown(value)} is not one of the choices"
        return Problem(key=key, reason=reason, remedy=choose(str(value), choices))
    if kind == "string_type" and isinstance(value, bool | int | float | date):
        return Problem(key=key, reason=_misread(value), remedy="write it in quotes")
    described = f"what belongs here: {_description(location)}"
    if value is None:
        return Problem(
            key=key, reason="nothing is written under it", remedy=f"leave the key out, or fill it; {described}"
        )
    if kind == "value_error":
        reason, _colon, remedy = str(detail["msg"]).removeprefix("Value error, ").partition(": ")
    else:
        must = _MUST.get(kind)
        reason, remedy = must or _SHOULD.sub("must ", str(detail["msg"])), described
    shown = "" if value is data else f"{_shown(value)}: "
    return Problem(key=key, reason=f"{shown}{reason}", remedy=remedy or described)


# These replace pydantic's messages, which are written for programmers.
_MUST = {
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false, without quotes",
    "list_type": "must be a list, [a, b]",
    "dict_type": "must be a mapping of keys to values",
    "model_type": "must be a mapping of keys to values",
}
_LOGIN = re.compile(r"//\S*@|^[^\s:]+:\S*@")  # of a URL: a mistake, and a secret
_SHOULD = re.compile(r"^(Input|String|Dictionary|List|Value) should ")


def _misread(value: bool | float | date) -> str:
    """Return the reason for a word that YAML read as another type."""
    if isinstance(value, bool):
        return "YAML takes on, yes, true, off, no and false for answers, not for words"
    if isinstance(value, date):
        return f"YAML reads {value} as a date"
    return f"YAML reads {value} as a number"


def _key(location: tuple[str | int, ...]) -> str:
    return ".".join(str(part) for part in location if part != "[key]")


def _written(location: tuple[str | int, ...], data: Any) -> tuple[str | int, ...]:
    """Return ``location`` without parts that pydantic added: the union choice it tried."""
    for depth, part in enumerate(location):
        known = range(len(data)) if isinstance(data, list) else data if isinstance(data, dict) else ()
        if part not in known:
            return location[:depth]
        data = data[part]
    return location


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    if isinstance(value, bool):
        return str(value).lower()
    text = (
        str(value)
        if isinstance(value, date)
        else ascii(_LOGIN.sub("//<login>@", value) if isinstance(value, str) else value)
    )
    return text if len(text) <= 60 else f"{text[:57]}..."


def _models_at(location: tuple[str | int, ...]) -> list[type[BaseModel]]:
    """Return the models that the key path ``location`` can lead to."""
    found: list[Any] = [Site]
    for part in location:
        found = [inner for outer in found for inner in _step(outer, part)]
    return [one for one in found if isinstance(one, type) and issubclass(one, BaseModel)]


def _step(annotation: Any, part: str | int) -> list[Any]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        info = annotation.model_fields.get(str(part))
        return _choices(info.annotation) if info else []
    arguments = get_args(annotation)
    if get_origin(annotation) is dict:
        return _choices(arguments[0 if part == "[key]" else 1])
    return _choices(arguments[0]) if get_origin(annotation) is list else []


def _choices(annotation: Any) -> list[Any]:
    """Return the types that ``annotation`` allows: each choice of a union, without constraints."""
    if get_origin(annotation) is Annotated:
        return _choices(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return [inner for choice in get_args(annotation) for inner in _choices(choice)]
    return [annotation]


def _fields_at(location: tuple[str | int, ...]) -> list[str]:
    return sorted({name for model in _models_at(location) for name in model.model_fields})


def _description(location: tuple[str | int, ...]) -> str:
    """Return the description of the field at ``location``, or of its nearest described parent."""
    for length in range(len(location), 0, -1):
        for owner in _models_at(location[: length - 1]):
            info = owner.model_fields.get(str(location[length - 1]))
            if info and info.description:
                return info.description
    return "what docs/site-file.md describes"
