"""Command line of supply: build, list, verify, graph, publish, resolve, files, prune, advisories."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..errors import GroundupError
from ..progress import TERMINAL
from . import Artifact, ensure, load_lock
from .cache.served import lay_out
from .lock.model import DEFAULT_PATH, Kind, Lock
from .prune import prune
from .publish.images import push
from .report import check, graph, rebuild_and_compare, record_digests, table


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return the exit status: 0 done, 1 an error, with its message printed.

    Of ``advisories``: 0 nothing is affected, 1 something is, 2 an error or something is not known.
    """
    options = _parser().parse_args(arguments)
    try:
        names = getattr(options, "names", None) or None
        if options.command == "advisories":
            return _advisories(options.files, load_lock(), names)
        return 0 if _run(options, load_lock().including(names), names) else 1
    except GroundupError as error:
        sys.stderr.write(f"supply: {error}\n")
        return 2 if options.command == "advisories" else 1


def _advisories(files: list[Path], lock: Lock, names: list[str] | None) -> int:
    from .advisories.report import report  # late: only this needs its libraries

    found = report(lock, files, names=names, hosts={})
    _show(found.text())
    return found.code


def _run(options: argparse.Namespace, lock: Lock, names: list[str] | None) -> bool:
    """Run one command; return whether its checks passed."""
    match options.command:
        case "build":
            draw = _draw if TERMINAL else None
            ensure(names, progress=_show, draw=draw, rebuild=options.rebuild, source=options.source, lock=lock)
        case "list":
            _show(table(lock, names))
        case "graph":
            _show(graph(lock, names))
        case "verify":
            return (rebuild_and_compare if options.rebuild else check)(lock, names, progress=_show)
        case "prune":
            prune(lock, days=options.days, progress=_show, dry_run=options.dry_run)
        case "resolve":
            record_digests(DEFAULT_PATH, names, progress=_show)
        case "publish":
            push(options.registry, _made(lock, names, "image"), tls_verify=not options.plain_http, progress=_show)
        case "files":
            for artifact in _made(lock, names, "files"):
                lay_out(options.destination, artifact)
    return True


def _made(lock: Lock, names: list[str] | None, kind: Kind) -> list[Artifact]:
    """Return the artifacts of ``kind`` among ``names``, built when missing."""
    chosen = [name for name in lock.select(names) if lock.artifacts[name].kind == kind]
    return list(ensure(chosen, progress=_show, lock=lock).values())


def _draw(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _show(line: str) -> None:
    _draw(f"{line}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="supply", description="The artifacts of supply.lock.")
    commands = parser.add_subparsers(dest="command", required=True)

    def command(name: str, text: str, *, names: bool = True) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text, description=text)
        if names:
            added.add_argument("names", nargs="*", help="artifacts or groups; none: all")
        return added

    build = command("build", "make what the cache lacks")
    build.add_argument("--rebuild", action="store_true", help="make the named artifacts again")
    build.add_argument(
        "--source", choices=["build", "upstream"], default="build", help="build, or fetch what is published"
    )
    command("list", "a table of artifacts: version, size, digest, time and CPU of their build")
    command("graph", "what needs what, as a Graphviz document")
    verify = command("verify", "read every stored artifact again and compare digests")
    verify.add_argument("--rebuild", action="store_true", help="build the named artifacts twice and compare digests")
    command("resolve", "fetch what is published and record its digest in the lock, where none is")
    publish = command("publish", "put images into an OCI registry")
    publish.add_argument("--registry", required=True, help="address:port, or address:port/project")
    publish.add_argument("--plain-http", action="store_true", help="the registry speaks plain HTTP")
    files = command("files", "lay out files as <artifact>/<version>/<file>")
    files.add_argument("--destination", type=Path, required=True)
    old = command("prune", "remove what the lock does not name and nothing has used for a while", names=False)
    old.add_argument("--days", type=int, default=30, help="what was used in that many days stays (default: 30)")
    old.add_argument("--dry-run", action="store_true", help="say what would be removed, remove nothing")
    known = command("advisories", "what of the built artifacts is affected by advisories, and which version fixes it")
    known.add_argument(
        "--from", dest="files", type=Path, action="append", required=True, metavar="FILE",
        help="Debian's security tracker as JSON, or OSV records: one, a list, or a directory of such files; repeatable",
    )  # fmt: skip
    return parser


if __name__ == "__main__":
    sys.exit(main())
