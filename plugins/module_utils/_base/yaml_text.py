"""Read and write other programs' YAML files with the OS's python3-yaml."""

from __future__ import annotations

from typing import Any

from .errors import GroundupError


def load(text: str) -> dict[str, Any]:
    """Return the mapping in ``text``; empty when it holds none or is invalid, such as an unfinished file."""
    if not text.strip():
        return {}
    yaml = _library()
    try:
        found = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # both are safe
    except yaml.YAMLError:
        return {}
    return found if isinstance(found, dict) else {}


def dump(document: dict[str, Any]) -> str:
    """Return ``document`` as YAML; keys keep their order."""
    text: str = _library().safe_dump(document, sort_keys=False)
    return text


def _library() -> Any:
    """Import PyYAML only when there is YAML to read: before its first layer a host has neither."""
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
