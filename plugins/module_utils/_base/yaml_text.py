"""YAML that other programs wrote, read and written by the OS's python3-yaml."""

from __future__ import annotations

from typing import Any

from .errors import GroundupError


def load(text: str) -> dict[str, Any]:
    """Return the mapping in ``text``; empty when there is none, as in a file a killed program left unfinished."""
    if not text.strip():
        return {}
    yaml = _library()
    try:
        found = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # both are safe
    except yaml.YAMLError:
        return {}
    return found if isinstance(found, dict) else {}


def dump(document: dict[str, Any]) -> str:
    """Return ``document`` as YAML, its keys in their order."""
    text: str = _library().safe_dump(document, sort_keys=False)
    return text


def _library() -> Any:
    """Import PyYAML only where there is YAML to read: a host before its first layer has neither."""
    try:
        import yaml
    except ImportError as error:
        raise GroundupError(
            "python3-yaml is not installed",
            where="this host",
            why="files of Kubernetes are there, and nothing can tell what they say",
            remedy="apt-get install python3-yaml",
        ) from error
    return yaml
