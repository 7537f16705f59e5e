"""How long a cloud's APIs take: p50 and p99 by number of clients, and an image's way up and down. No retries.

ci/lab shell python tests/e2e/api_latency.py --charts builtin       # measure; also: openstack-helm
ci/run python tests/e2e/api_latency.py page                         # what was measured, into docs/performance.md

The cloud is that of OS_CLOUD and clouds.yaml. Each client is a thread that asks one request after another: once over
connections that it keeps, once with a new one for each request. Exit code 1 when a request failed.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import json
import math
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION, cache_dir
from ansible_collections.groundup.cloud.tests.e2e.conformance.report import write
from ansible_collections.groundup.cloud.tests.e2e.probing import Line, RefusedError
from ansible_collections.groundup.cloud.tests.e2e.serving import PREFIX, Cloud

PAGE = COLLECTION / "docs/performance.md"
BEGIN = "<!-- results: ci/run python tests/e2e/api_latency.py page -->"
CLIENTS = (1, 10, 50)
REQUESTS = 200  # of each row, of all clients together
MEGABYTE = 1_000_000
_STORED = 600.0  # seconds until an image is stored
BUSY = 0.8  # share of a processor from which the client itself may be what takes the time
WAYS = {True: "kept", False: "new"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What came of one kind of request with some clients."""

    name: str
    clients: int
    connections: str  # kept, new
    sent: int
    p50: float  # seconds, of good answers
    p99: float
    rate: float  # good answers a second, of all clients
    busy: float  # share of a processor that this program took
    causes: dict[str, int]  # of requests that failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """An image's way."""

    megabytes: float
    upload: float = math.nan  # MB/s
    download: float = math.nan
    cause: str = ""  # why there is no figure


def percentile(seconds: Sequence[float], share: float) -> float:
    """Return the smallest value that ``share`` of all do not exceed (nearest rank); NaN of none."""
    if not seconds:
        return math.nan
    return sorted(seconds)[max(math.ceil(share * len(seconds)) - 1, 0)]


def row(
    name: str, *, clients: int, kept: bool, good: Sequence[float], causes: Sequence[str], wall: float, cpu: float
) -> Row:
    """Return the figures of requests: ``good``, their seconds; ``causes`` of the others."""
    return Row(
        name=name, clients=clients, connections=WAYS[kept], sent=len(good) + len(causes),
        p50=percentile(good, 0.5), p99=percentile(good, 0.99), rate=len(good) / wall, busy=cpu / wall,
        causes=dict(Counter(causes)),
    )  # fmt: skip


def measure(name: str, ask: Callable[[Line], Any], line: Callable[[], Line], *, clients: int, requests: int) -> Row:
    """Ask ``requests`` times in all. A kept connection is made, and used once, before it counts, but for its failure.

    Raises KeyboardInterrupt, and what ``ask`` raises of itself, when no request is under way any more.
    """
    lines = [line() for _ in range(clients)]
    share = [requests // clients + (number < requests % clients) for number in range(clients)]
    good, causes, died = list[float](), list[str](), list[Exception]()
    gate, ended = threading.Barrier(clients + 1), threading.Event()

    def once(one: Line) -> tuple[float, str]:
        began = time.monotonic()
        try:
            ask(one)
        except RefusedError as error:
            return 0.0, error.cause
        except (OSError, http.client.HTTPException) as error:
            return 0.0, type(error).__name__
        return time.monotonic() - began, ""

    def client(one: Line, times: int) -> None:
        try:
            if one.kept and (cause := once(one)[1]):
                causes.append(cause)
            with suppress(threading.BrokenBarrierError):
                gate.wait()
            for _ in range(times):
                if ended.is_set():
                    break
                seconds, cause = once(one)
                causes.append(cause) if cause else good.append(seconds)
        except Exception as error:  # noqa: BLE001 - raised below; without it, the others wait for ever
            died.append(error)
            ended.set()
            gate.abort()
        one.close()

    threads = [threading.Thread(target=client, args=pair) for pair in zip(lines, share, strict=True)]
    for thread in threads:
        thread.start()
    try:
        with suppress(threading.BrokenBarrierError):
            gate.wait()
        began, spent = time.monotonic(), time.process_time()
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:  # what they are about to make is deleted after this
        ended.set()
        gate.abort()
        for thread in threads:
            thread.join()
        raise
    if died:
        raise died[0]
    wall, cpu = time.monotonic() - began, time.process_time() - spent
    return row(name, clients=clients, kept=lines[0].kept, good=good, causes=causes, wall=wall, cpu=cpu)


def transfer(line: Line, *, headers: dict[str, str], megabytes: int) -> Transfer:
    """Send an image of ``megabytes`` and fetch it again; delete it. Raises RefusedError for other bytes."""
    content = os.urandom(MEGABYTE) * megabytes
    body = json.dumps({"name": f"{PREFIX}-latency", "disk_format": "raw", "container_format": "bare"}).encode()
    _, made = line.ask("POST", "/images", body=body, headers=headers | {"Content-Type": "application/json"})
    path = f"/images/{json.loads(made)['id']}"
    try:
        began = time.monotonic()
        line.ask("PUT", f"{path}/file", body=content, headers=headers | {"Content-Type": "application/octet-stream"})
        sent = time.monotonic()
        _, back = line.ask("GET", f"{path}/file", headers=headers)
        ended = time.monotonic()
    finally:
        line.ask("DELETE", path, headers=headers)
    if hashlib.sha256(back).digest() != hashlib.sha256(content).digest():
        raise RefusedError(f"{len(back)} other bytes came back of {len(content)}")
    return Transfer(megabytes=megabytes, upload=megabytes / (sent - began), download=megabytes / (ended - sent))


def measured(cloud: Cloud, *, clients: Iterable[int], requests: int, megabytes: int) -> dict[str, Any]:
    """Return all rows, and the image's way."""
    server, headers = cloud.images
    rows = []
    for name, url, method, path, body in cloud.reads():
        given = headers if method == "GET" else {"Content-Type": "application/json"}
        for number in clients:
            for kept in WAYS:
                rows.append(
                    measure(
                        name, lambda one: one.ask(method, path, body=body, headers=given),  # noqa: B023 - called here
                        lambda: Line(url, context=cloud.context, kept=kept),  # noqa: B023
                        clients=number, requests=max(requests, number),
                    )
                )  # fmt: skip
                print(line_of(rows[-1]), flush=True)
    line = Line(server, context=cloud.context, kept=True, patience=_STORED)
    try:
        way = transfer(line, headers=headers, megabytes=megabytes)
    except (RefusedError, OSError, http.client.HTTPException) as error:  # the rows are worth keeping
        way = Transfer(megabytes=megabytes, cause=str(error) or type(error).__name__)
    return {"day": f"{datetime.now(UTC):%Y-%m-%d}", "rows": [asdict(one) for one in rows], "image": asdict(way)}


def line_of(one: Row) -> str:
    """Return a row as people read it."""
    faults = f"; failed: {', '.join(f'{cause} {number}' for cause, number in one.causes.items())}" if one.causes else ""
    return f"{one.name}, {one.clients} clients, {one.connections} connections: {_figures(one)}{faults}"


def _figures(one: Row) -> str:
    return f"{_milliseconds(one.p50)} / {_milliseconds(one.p99)} ms" + ("*" if one.busy > BUSY else "")


def _milliseconds(seconds: float) -> str:
    return "-" if math.isnan(seconds) else f"{seconds * 1000:.0f}"


def section(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Return one table of all sets of charts, as Markdown."""
    rows = {charts: [Row(**one) for one in said["rows"]] for charts, said in found.items()}
    keys = list(dict.fromkeys((one.name, one.clients, one.connections) for each in rows.values() for one in each))
    by = {(charts, one.name, one.clients, one.connections): one for charts, each in rows.items() for one in each}
    heads = [f"{charts} ({said['day']})" for charts, said in found.items()]
    lines = [
        f"| p50 / p99 | clients | connections | {' | '.join(heads)} |",
        f"|---|---|---|{'---|' * len(found)}",
    ]
    for key in keys:
        cells = [_cell(by[charts, *key]) if (charts, *key) in by else "-" for charts in found]
        lines.append(f"| {key[0]} | {key[1]} | {key[2]} | {' | '.join(cells)} |")
    for what in ("upload", "download"):
        cells = [_speed(Transfer(**said["image"]), what) for said in found.values()]
        lines.append(f"| image, {what} | 1 | kept | {' | '.join(cells)} |")
    return "\n".join(lines)


def _speed(way: Transfer, what: str) -> str:
    if way.cause:
        return f"**failed**: {way.cause}"
    return f"{getattr(way, what):.0f} MB/s of {way.megabytes:g} MB"


def _cell(one: Row) -> str:
    failed = sum(one.causes.values())
    return f"{_figures(one)}, {one.rate:.0f}/s" + (f", **{failed} of {one.sent} failed**" if failed else "")


def place() -> Path:
    """Return where measurements are kept, a file for each set of charts."""
    return cache_dir() / "logs/latency"


def page(kept: Path, section: Callable[[Mapping[str, Any]], str], *, begin: str) -> int:
    """Write what is ``kept`` by sets of charts, as ``section`` tells it, into the page; return the exit code."""
    found = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(kept.glob("*.json"))}
    if not found:
        print("nothing was measured yet", file=sys.stderr)
        return 2
    write(PAGE, section(found), begin=begin)
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", nargs="?", choices=["measure", "page"], default="measure")
    parser.add_argument("--charts", choices=["builtin", "openstack-helm"], default="builtin")
    parser.add_argument("--clients", type=int, nargs="+", default=CLIENTS)
    parser.add_argument("--requests", type=int, default=REQUESTS, help="of each row, of all clients together")
    parser.add_argument("--megabytes", type=int, default=128, help="size of the image")
    given = parser.parse_args(arguments)
    if given.command == "page":
        return page(place(), section, begin=BEGIN)
    said = measured(Cloud.here(), clients=given.clients, requests=given.requests, megabytes=given.megabytes)
    place().mkdir(parents=True, exist_ok=True)
    (place() / f"{given.charts}.json").write_text(json.dumps(said, indent=1), encoding="utf-8")
    print(section({given.charts: said}))
    return 1 if said["image"]["cause"] or any(one["causes"] for one in said["rows"]) else 0


if __name__ == "__main__":
    raise SystemExit(main())
