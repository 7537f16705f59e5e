"""From a file, or from plain data, to the site model: every fault with its key path, its reason and its remedy."""

from __future__ import annotations

import difflib
import types
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from .errors import Problem, SiteError
from .model import Site
from .reader import parse_yaml, read_yaml

MAX_PROBLEMS = 20  # more than anyone corrects in one go


def load_site(path: str | Path) -> Site:
    """Return the site in the file at ``path``.

    Raises:
        SiteError: whatever is wrong with the file; nothing else is raised for any content.
    """
    return build_site(read_yaml(path), file=str(path))


def parse_site(content: bytes, *, file: str = "<site>") -> Site:
    """Return the site in ``content``, YAML text. Raises as `load_site`."""
    return build_site(parse_yaml(content, file=file), file=file)


def build_site(data: dict[str, Any], *, file: str = "<site>") -> Site:
    """Return the site that plain ``data`` describes; ``file`` names it in errors. Raises as `load_site`."""
    try:
        site = Site.model_validate(data)
    except ValidationError as error:
        problems = [_problem(dict(detail), data) for detail in error.errors(include_url=False)[:MAX_PROBLEMS]]
        raise SiteError(*problems, file=file) from error
    site._file = file
    return site


def _problem(detail: dict[str, Any], data: dict[str, Any]) -> Problem:
    location: tuple[str | int, ...] = detail["loc"]
    kind: str = detail["type"]
    key = ".".join(str(part) for part in location if part != "[key]")
    if kind == "extra_forbidden":
        known = _fields_at(location[:-1])
        close = difflib.get_close_matches(str(location[-1]), known, n=1, cutoff=0.6)
        remedy = f"did you mean '{close[0]}'?" if close else f"keys here: {', '.join(known)}"
        return Problem(key=key, reason="unknown key", remedy=remedy)
    if kind == "missing":
        return Problem(key=key, reason="required, and not written", remedy=f"write it: {_description(location)}")
    if kind == "literal_error":
        expected = str(detail.get("ctx", {}).get("expected", ""))
        choices = [word.strip("'") for word in expected.replace(" or ", ", ").split(", ")]
        close = difflib.get_close_matches(str(detail["input"]), choices, n=1, cutoff=0.6)
        hint = f"did you mean '{close[0]}'? One of" if close else "write one of"
        return Problem(
            key=key,
            reason=f"{_shown(detail['input'])} is not one of the choices",
            remedy=f"{hint}: {', '.join(choices)}",
        )
    message = str(detail["msg"]).removeprefix("Value error, ")
    reason, _colon, remedy = message.partition(": ") if kind == "value_error" else (message, "", "")
    shown = "" if detail["input"] is data else f"{_shown(detail['input'])}: "
    return Problem(
        key=key, reason=f"{shown}{reason[:1].lower()}{reason[1:]}", remedy=remedy or f"write {_description(location)}"
    )


def _shown(value: Any) -> str:
    text = (
        ascii(value) if not isinstance(value, dict | list) else f"a {'mapping' if isinstance(value, dict) else 'list'}"
    )
    return text if len(text) <= 60 else f"{text[:57]}..."


def _models_at(location: tuple[str | int, ...]) -> list[Any]:
    """Return the annotations that the key path ``location`` may lead to."""
    found: list[Any] = [Site]
    for part in location:
        found = [inner for outer in found for inner in _step(outer, part)]
    return found


def _step(annotation: Any, part: str | int) -> list[Any]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        info = annotation.model_fields.get(str(part))
        return [info.annotation] if info else []
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _step(arguments[0], part)
    if origin in (Union, types.UnionType):
        return [inner for argument in arguments for inner in _step(argument, part)]
    if origin is dict:
        return [arguments[1]] if part != "[key]" else [arguments[0]]
    return [arguments[0]] if origin is list else []


def _unwrapped(annotation: Any) -> list[Any]:
    if get_origin(annotation) in (Annotated, Union, types.UnionType):
        arguments = get_args(annotation)
        return [
            inner
            for a in (arguments[:1] if get_origin(annotation) is Annotated else arguments)
            for inner in _unwrapped(a)
        ]
    return [annotation]


def _fields_at(location: tuple[str | int, ...]) -> list[str]:
    models = [
        m for a in _models_at(location) for m in _unwrapped(a) if isinstance(m, type) and issubclass(m, BaseModel)
    ]
    return sorted({name for model in models for name in model.model_fields})


def _description(location: tuple[str | int, ...]) -> str:
    """Return what the model says of the field at ``location``, or of the nearest one above it."""
    for length in range(len(location), 0, -1):
        owners = [m for a in _models_at(location[: length - 1]) for m in _unwrapped(a)]
        for owner in owners:
            if isinstance(owner, type) and issubclass(owner, BaseModel):
                info = owner.model_fields.get(str(location[length - 1]))
                if info and info.description:
                    return info.description
    return "what docs/site-file.md describes"
