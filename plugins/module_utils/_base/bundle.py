"""Make one program of a module of this library and of all it imports from it: a host needs Python alone to run it."""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import io
import sys
import zipfile
from importlib.util import resolve_name
from pathlib import Path
from types import ModuleType

from .changes import Changes
from .files import write_file

_LIBRARY = resolve_name("..", __package__ or "")


def install(changes: Changes, path: Path, module: ModuleType, *, shown: str = "") -> None:
    """Write the program of ``module`` at ``path``, which is told as ``shown``. Raises OSError."""
    name, data = shown or str(path), program(module)
    before = path.read_bytes() if path.exists() else b""
    if before != data:
        texts = (f"sha256 {hashlib.sha256(found).hexdigest()}\n" if found else "" for found in (before, data))
        if changes.add(f"write {name}", name=name, **dict(zip(("before", "after"), texts, strict=True))):
            write_file(path, data, mode=0o755)


def program(module: ModuleType) -> bytes:
    """Return ``module``, whose ``main`` it runs, and its imports as one zip, reproducible for the same code."""
    main = module.__name__.removeprefix(f"{_LIBRARY}.")
    files = {"__main__.py": f"from groundup.{main} import main\n\nmain()\n"}
    for name, source in _sources(module).items():
        path = Path("groundup", *name.split("."))
        files |= {str(parent / "__init__.py"): "" for parent in path.parents if parent != Path()}
        files[f"{path}.py"] = source
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for file, text in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(file), text)  # its date is fixed: 1980
    return stream.getvalue()


def _sources(module: ModuleType) -> dict[str, str]:
    """Return the sources of ``module`` and of all it imports from this library, by name below the library."""
    found: dict[str, str] = {}
    todo = [module.__name__]
    while todo:
        name = todo.pop()
        short = name.removeprefix(f"{_LIBRARY}.")
        if short in found or name == short:
            continue
        imported = importlib.import_module(name)
        if hasattr(imported, "__path__"):
            continue  # a package: its modules are imported by name
        # getsource also reads from the archive in which Ansible ships modules to a host.
        found[short] = source = inspect.getsource(imported)
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = resolve_name("." * node.level + (node.module or ""), name.rpartition(".")[0])
                todo += [base, *(each for alias in node.names if (each := f"{base}.{alias.name}") in sys.modules)]
    return found
