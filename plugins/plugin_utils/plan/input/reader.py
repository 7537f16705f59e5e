"""Read a site file: YAML 1.1 of plain mappings, lists and scalars. Everything else is refused.

PyYAML's safe loader still accepts duplicate keys (the last one silently wins), aliases (a few lines that expand to
gigabytes) and tags (`!!bool x` ends in a KeyError). No site file needs them: each is refused with its position.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from ..errors import Problem, SiteError
from ..model.site import NamedFile

MAX_BYTES = 4 * 1024 * 1024  # enough for 10,000 machines with about 400 bytes each
MAX_PEM_BYTES = 256 * 1024  # a browser's whole list of CAs is about 220 KiB
MAX_DEPTH = 32  # the model is at most 8 levels deep outside free-form chart values

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _SiteLoader(_Loader):  # type: ignore[misc]  # CSafeLoader exists only where libyaml does
    """The safe loader. Refuses duplicate keys, merge keys and keys that are not text."""

    def construct_mapping(self, node: yaml.Node, deep: bool = False) -> dict[Any, Any]:
        seen: dict[Any, yaml.Mark] = {}
        for key_node, _value in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                raise _Refused(key_node.start_mark, "the merge key << is not accepted", "write the keys out")
            if not isinstance(key_node, yaml.ScalarNode):
                raise _Refused(key_node.start_mark, "a key must be text", "write a plain word before the colon")
            if key_node.value in seen:
                first = seen[key_node.value].line + 1
                reason = f"the key '{key_node.value}' is written twice, first on line {first}"
                raise _Refused(key_node.start_mark, reason, "keep one of them")
            seen[key_node.value] = key_node.start_mark
        # Keys are names: `on:` or `1:` mean the text, not a boolean or a number.
        return {key.value: self.construct_object(value, deep=deep) for key, value in node.value}

    def construct_number(self, node: yaml.ScalarNode) -> int:
        """Return a whole number. Refuse YAML 1.1 forms that an operator does not expect: 010 is 8, 1:30 is 90."""
        number = int(self.construct_yaml_int(node))
        if not _DECIMAL.fullmatch(node.value):
            raise _Refused(
                node.start_mark,
                f"YAML reads {node.value} as the number {number}",
                "put it in quotes, or write the number with plain digits",
            )
        return number


_DECIMAL = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_SiteLoader.add_constructor("tag:yaml.org,2002:int", _SiteLoader.construct_number)


class _Refused(yaml.MarkedYAMLError):
    def __init__(self, mark: Any, reason: str, remedy: str) -> None:
        super().__init__(problem=reason, problem_mark=mark)
        self.remedy = remedy


def _refuse_aliases_tags_and_depth(content: bytes) -> None:
    """Refuse aliases, tags and deep nesting. Reads events only, so that aliases are not expanded."""
    depth = 0
    for event in yaml.parse(content, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent):
            raise _Refused(event.start_mark, f"the alias *{event.anchor} is not accepted", "write the value out")
        # Explicit tags only, YAML's own included: the loader fails on a tag that does not fit its value.
        if tag := getattr(event, "tag", None):
            name = str(tag).removeprefix("tag:yaml.org,2002:")
            remedy = "leave it out, with text in quotes; secrets are named in a site file, never written"
            raise _Refused(event.start_mark, f"the tag {name!a} is not accepted", remedy)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise _Refused(
                    event.start_mark, f"nested deeper than {MAX_DEPTH} levels", "check the indentation and brackets"
                )
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


def read_file(path: str | Path) -> bytes:
    """Return the bytes of the site file. Raises SiteError when it cannot be read, or is too large for one."""
    try:
        with Path(path).open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        reason = f"cannot be read: {error.strerror or error}"
        raise _error(path, "", reason, "check the path and its permissions") from error
    if len(content) > MAX_BYTES:
        reason = f"larger than {MAX_BYTES // 1024**2} MiB, which no site of 10,000 machines needs"
        raise _error(path, "", reason, "give machines as counts or ranges (`per_rack: 40`) instead of one by one")
    return content


def named_files(path: str | Path, names: Iterable[str]) -> dict[str, NamedFile]:
    """Return the files ``names`` beside the site file at ``path``. One that cannot be read has its fault."""
    return {name: named_file(Path(path).parent / name) for name in names}


def named_file(path: Path) -> NamedFile:
    """Return the file at ``path``, or why it cannot be read."""
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_PEM_BYTES + 1)
        if len(content) > MAX_PEM_BYTES:
            return NamedFile(fault=f"is larger than {MAX_PEM_BYTES // 1024} KiB")
        return NamedFile(text=content.decode("utf-8-sig"))
    except OSError as error:
        return NamedFile(fault=f"cannot be read: {error.strerror or error}")
    except UnicodeDecodeError:
        return NamedFile(
            fault="is not text: it may be DER (openssl x509 -inform DER -in FILE -out NAME.pem) or PKCS #12"
        )


def parse_yaml(content: bytes, *, file: str) -> dict[str, Any]:
    """Return the mapping in ``content``. Errors name ``file``.

    Raises SiteError for no text, no YAML, or a YAML feature that site files do not need.
    """
    try:
        content.decode("utf-8")
        _refuse_aliases_tags_and_depth(content)
        data = yaml.load(content, Loader=_SiteLoader)  # noqa: S506 - a subclass of the safe loader
    except UnicodeDecodeError as error:
        raise _error(file, _line(content[: error.start]), "not UTF-8 text", "save the file as UTF-8") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        key = f"line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        reason = " ".join(filter(None, (error.context, error.problem))) or "not YAML"
        remedy = error.remedy if isinstance(error, _Refused) else "correct the YAML there"
        if mark and b"\t" in b"".join(content.splitlines()[mark.line : mark.line + 1]):
            remedy = "there is a tab on that line: YAML is indented with spaces"
        raise _error(file, key, reason, remedy) from error
    except yaml.reader.ReaderError as error:
        reason = f"a character that YAML does not take: {error.reason}"
        raise _error(file, _line(content[: error.position]), reason, "remove it") from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date such as 2026-13-45
        raise _error(file, "", f"not YAML: {' '.join(str(error).split())}", "correct the YAML") from error
    if not isinstance(data, dict):
        reason = "the file is empty" if data is None else f"holds a {type(data).__name__}, not a mapping of keys"
        raise _error(file, "", reason, "start from inventories/lab/site.yml")
    return data


def _error(file: str | Path, key: str, reason: str, remedy: str) -> SiteError:
    return SiteError(Problem(key=key, reason=reason, remedy=remedy), file=str(file))


def _line(before: bytes) -> str:
    """Return the key "line N" of the position after ``before``."""
    number = before.count(b"\n") + 1
    return f"line {number}"
