"""Read a type of the plan from plain data, as Ansible hands it to a module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from .._base.errors import OptionError

Kind = TypeVar("Kind")


def from_dict(kind: type[Kind], plain: Any, where: str) -> Kind:
    """Return the dataclass ``kind`` with the values of ``plain``, whose further keys are ignored.

    ``where``: the name of ``plain`` in errors. Raises OptionError for a missing field.
    """
    if not isinstance(plain, Mapping):
        raise OptionError(f"{where} is no dictionary: give the plan as it is")
    hints, found = get_type_hints(kind), {}
    for field in fields(kind):  # type: ignore[arg-type]  # a dataclass
        if field.name in plain:
            found[field.name] = _value(hints[field.name], plain[field.name], f"{where}.{field.name}")
        elif field.default is MISSING and field.default_factory is MISSING:
            raise OptionError(f"{where} lacks {field.name}: give the plan as it is")
    return kind(**found)


def _value(hint: Any, plain: Any, where: str) -> Any:
    """Return ``plain`` as ``hint`` says. Only the shape is the plan's; values are checked on the controller."""
    if is_dataclass(hint):
        return from_dict(hint, plain, where)  # type: ignore[arg-type]  # a type, not an instance
    origin, inner = get_origin(hint), get_args(hint)
    if NoneType in inner:
        return None if plain is None else _value(next(one for one in inner if one is not NoneType), plain, where)
    if origin is tuple and inner[1:] == (...,):
        return tuple(_value(inner[0], one, where) for one in plain)
    if origin is tuple:
        return tuple(map(_value, inner, plain, [where] * len(inner)))
    if origin in (dict, Mapping):
        return {name: _value(inner[1], one, f"{where}.{name}") for name, one in plain.items()}
    return plain
