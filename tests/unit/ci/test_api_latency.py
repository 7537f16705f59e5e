"""What the measurement of a cloud's APIs makes of its requests: figures, faults, and the page's table."""

from __future__ import annotations

import http.server
import itertools
import json
import math
import threading
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import pytest
from ansible_collections.groundup.cloud.tests.e2e import api_latency
from ansible_collections.groundup.cloud.tests.e2e.api_latency import Row, measure, percentile, row, section, transfer
from ansible_collections.groundup.cloud.tests.e2e.probing import Line, RefusedError

STORED: dict[str, bytes] = {}


class Handler(http.server.BaseHTTPRequestHandler):
    """An image API, and a path that fails each third time."""

    protocol_version = "HTTP/1.1"
    connections = asked = 0
    lock = threading.Lock()
    wbufsize = 65536  # head and body of an answer in one packet
    broken = b""  # what comes back in place of the image

    def setup(self) -> None:
        super().setup()
        with self.lock:
            type(self).connections += 1

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        with self.lock:
            type(self).asked += 1
            failed = self.path == "/third" and self.asked % 3 == 0
        stored = self.broken or STORED.get(self.path, b"{}")
        self.answer(503 if failed else 200, stored)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(201, json.dumps({"id": "x"}).encode())

    def do_PUT(self) -> None:
        STORED[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(204, b"")

    def do_DELETE(self) -> None:
        STORED.clear()
        self.answer(204, b"")

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    """A server on loopback."""
    Handler.connections = Handler.asked = 0
    Handler.broken = b""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as one:
        one.daemon_threads = True
        thread = threading.Thread(target=one.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{one.server_port}"
        one.shutdown()
        thread.join()


def asked(server: str, path: str, *, clients: int, requests: int, kept: bool) -> Row:
    """Measure requests for a path."""
    return measure(
        "list", lambda line: line.ask("GET", path), lambda: Line(server, kept=kept), clients=clients, requests=requests
    )  # fmt: skip


@pytest.mark.parametrize(
    ("values", "share", "wanted"),
    [([3.0, 1.0, 2.0], 0.5, 2.0), ([1.0, 2.0], 0.5, 1.0), ([float(n) for n in range(1, 101)], 0.99, 99.0),
     ([float(n) for n in range(1, 201)], 0.99, 198.0), ([5.0], 0.99, 5.0)],
)  # fmt: skip
def test_a_percentile_is_a_value_that_was_measured(values: list[float], share: float, wanted: float) -> None:
    assert percentile(values, share) == wanted


def test_nothing_good_has_no_percentile_and_no_rate() -> None:
    found = row("list", clients=1, kept=True, good=[], causes=["HTTP 503"] * 3, wall=2.0, cpu=0.1)
    assert (math.isnan(found.p50), found.rate, found.sent, found.causes) == (True, 0.0, 3, {"HTTP 503": 3})


def test_kept_connections_are_made_once_a_client_and_new_ones_for_each_request(server: str) -> None:
    kept = asked(server, "/", clients=4, requests=22, kept=True)
    assert (kept.sent, Handler.connections, Handler.asked) == (22, 4, 22 + 4)  # each client's first does not count
    new = asked(server, "/", clients=4, requests=22, kept=False)
    assert (new.sent, Handler.connections) == (22, 4 + 22)
    assert 0 < kept.p50 <= kept.p99
    assert kept.rate > 0


def test_a_failed_request_is_counted_not_repeated_and_not_in_the_figures(server: str) -> None:
    found = asked(server, "/third", clients=1, requests=30, kept=False)
    assert (found.sent, found.causes, Handler.asked) == (30, {"HTTP 503": 10}, 30)


def test_a_first_request_that_failed_is_counted(server: str) -> None:
    Handler.asked = 2  # the next is the third
    found = asked(server, "/third", clients=1, requests=2, kept=True)
    assert (found.sent, found.causes, Handler.asked) == (3, {"HTTP 503": 1}, 5)


@pytest.mark.parametrize("after", [0, 3], ids=["before all have begun", "later"])
def test_a_client_that_dies_ends_the_measurement(server: str, after: int) -> None:
    asks, lock = itertools.count(), threading.Lock()

    def ask(line: Line) -> None:
        with lock:
            number = next(asks)
        if number == after:
            raise LookupError("no token")
        line.ask("GET", "/")

    with pytest.raises(LookupError, match="no token"):
        measure("list", ask, lambda: Line(server, kept=True), clients=2, requests=2000)
    assert next(asks) < 2000


def test_an_image_goes_up_comes_back_and_is_deleted(server: str) -> None:
    found = transfer(Line(server, kept=True), headers={}, megabytes=3)
    assert (found.megabytes, STORED) == (3, {})
    assert min(found.upload, found.download) > 0
    Handler.broken = b"other"
    with pytest.raises(RefusedError, match="5 other bytes came back of 3000000"):
        transfer(Line(server, kept=True), headers={}, megabytes=3)
    assert STORED == {}


def test_the_table_has_both_sets_of_charts_beside_each_other() -> None:
    def said(p50: float, *, failed: int = 0, busy: float = 0.1) -> dict[str, Any]:
        one = Row(
            name="token", clients=10, connections="new", sent=200, p50=p50, p99=2 * p50, rate=31.4, busy=busy,
            causes={"HTTP 503": failed} if failed else {},
        )  # fmt: skip
        return {"day": "2026-11-28", "rows": [asdict(one)],
                "image": {"megabytes": 128, "upload": 41.2, "download": 99.6}}  # fmt: skip

    assert section({"builtin": said(0.04), "openstack-helm": said(0.05, failed=2, busy=0.9)}).splitlines() == [
        "| p50 / p99 | clients | connections | builtin (2026-11-28) | openstack-helm (2026-11-28) |",
        "|---|---|---|---|---|",
        "| token | 10 | new | 40 / 80 ms, 31/s | 50 / 100 ms*, 31/s, **2 of 200 failed** |",
        "| image, upload | 1 | kept | 41 MB/s of 128 MB | 41 MB/s of 128 MB |",
        "| image, download | 1 | kept | 100 MB/s of 128 MB | 100 MB/s of 128 MB |",
    ]


def test_an_image_that_failed_is_told_beside_the_rows(server: str) -> None:
    class Cloud:
        images = server, dict[str, str]()
        context = None

        def reads(self) -> Iterator[tuple[str, str, str, str, bytes | None]]:
            yield "servers", server, "GET", "/", None

    Handler.broken = b"{}"
    cloud: Any = Cloud()
    said = api_latency.measured(cloud, clients=(1, 2), requests=4, megabytes=1)
    assert [(one["clients"], one["connections"], one["sent"]) for one in said["rows"]] == [
        (1, "kept", 4), (1, "new", 4), (2, "kept", 4), (2, "new", 4)
    ]  # fmt: skip
    assert said["image"]["cause"] == "2 other bytes came back of 1000000"
    assert "| image, upload | 1 | kept | **failed**: 2 other bytes came back of 1000000 |" in section({"builtin": said})


def test_the_page_has_its_mark(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(api_latency, "place", lambda: tmp_path)
    assert api_latency.main(["page"]) == 2
    assert api_latency.PAGE.read_text(encoding="utf-8").count(api_latency.BEGIN) == 1
