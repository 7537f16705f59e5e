"""List and verify cached artifacts, and record digests in the lock."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import yaml

from ...module_utils._base.files import write_file
from ...module_utils._base.text import aligned
from ..errors import GroundupError
from ..progress import Progress, clock
from .builders.upstream import resolve
from .cache.store import ArtifactStore
from .lock.model import Lock, load_lock
from .make.keys import keys
from .make.run import Run


def table(lock: Lock, names: Sequence[str] | None) -> str:
    """Return the artifacts as a table: kind, version, state, size, seconds and CPU seconds of the build, digest."""
    store, found = ArtifactStore(), keys(lock, lock.closure(tuple(lock.artifacts)))
    rows = [("ARTIFACT", "KIND", "VERSION", "SIZE MiB", "WALL", "CPU-s", "SHA256")]
    cpu = wall = 0.0
    for name in lock.select(names):
        entry, manifest = lock.artifacts[name], store.manifest(name, found[name])
        if manifest is None:
            rows.append((name, entry.kind, entry.version, "-", "-", "-", "not built"))
            continue
        cpu, wall = cpu + manifest.cpu_seconds, wall + manifest.wall_seconds
        rows.append((
            name, entry.kind, entry.version, f"{manifest.size / 2**20:.1f}", clock(manifest.wall_seconds),
            f"{manifest.cpu_seconds:.0f}", manifest.sha256[:16],
        ))  # fmt: skip
    rows.append(("total", "", "", "", clock(wall), f"{cpu:.0f}", ""))
    return "\n".join(aligned(rows))


def graph(lock: Lock, names: Sequence[str] | None) -> str:
    """Return the dependency graph in Graphviz's language."""
    chosen = lock.closure(lock.select(names))
    edges = [f'  "{need}" -> "{name}"' for name in chosen for need in lock.artifacts[name].needs]
    return "\n".join(["digraph supply {", "  rankdir=LR", *(f'  "{name}"' for name in chosen), *edges, "}"])


def check(lock: Lock, names: Sequence[str] | None, *, progress: Progress) -> bool:
    """Verify digest and bill of material of every stored artifact; return whether all are valid."""
    from .make import bill  # imported late: only this function and builds need its library

    store, found = ArtifactStore(), keys(lock, lock.closure(tuple(lock.artifacts)))
    whole = True
    for name in lock.select(names):
        try:
            artifact = store.find(lock.artifacts[name], found[name], thorough=True)
            if artifact is not None:
                text = artifact.sbom.read_text(encoding="utf-8") if artifact.sbom.exists() else "no such file"
                bill.validate(text, name=name)
        except GroundupError as error:
            whole = False
            progress(f"{name}: DAMAGED\n{error}")
        else:
            progress(f"{name}: {'sha256 ' + artifact.sha256 if artifact else 'not built'}")
    return whole


def rebuild_and_compare(lock: Lock, names: Sequence[str] | None, *, progress: Progress) -> bool:
    """Rebuild ``names`` and compare with the cached artifacts; return whether every digest is the same."""
    chosen = lock.select(names)
    first, second = (Run(lock, progress=progress).ensure(chosen, rebuild=again) for again in (False, True))
    whole = True
    for name in chosen:
        same = first[name].sha256 == second[name].sha256
        whole &= same
        progress(f"{name}: {'the same digest twice' if same else 'DIFFERS'} {first[name].sha256} {second[name].sha256}")
    return whole


def record_digests(path: Path, names: Sequence[str] | None, *, progress: Progress) -> None:
    """Fetch the published artifacts of ``names`` and write their missing digests to the lock at ``path``."""
    lock = load_lock(path)
    for name in lock.select(names):
        entry = lock.artifacts[name]
        if entry.upstream is None:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            for keys_to, digest in resolve(entry, scratch=Path(scratch)).items():
                _replace_null(path, ("artifacts", name, "upstream", *keys_to), digest)
                progress(f"{name}: {'.'.join(keys_to)} {digest}")


def _replace_null(path: Path, keys_to: tuple[str, ...], value: str) -> None:
    """Replace the null at ``keys_to`` in the YAML file by ``value``; keep every other byte, including comments."""
    text = path.read_text(encoding="utf-8")
    node = yaml.compose(text, Loader=yaml.SafeLoader)
    for key in keys_to:
        pairs = node.value if isinstance(node, yaml.MappingNode) else []
        node = next((held for name, held in pairs if name.value == key), None)
    is_null = isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null" and node.value
    if node is None or not is_null:
        raise GroundupError(
            f"the lock has no `null` to replace at {'.'.join(keys_to)}",
            where=str(path),
            why="the digest would be lost",
            remedy=f"write it there by hand: {value}",
        )
    changed = text[: node.start_mark.index] + value + text[node.end_mark.index :]
    write_file(path, changed.encode(), mode=0o644)
