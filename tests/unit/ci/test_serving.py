"""How the prober counts: by real connections to a server that fails, closes and hangs as it is told to."""

from __future__ import annotations

import http.server
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from ansible_collections.groundup.cloud.tests.e2e.judging import Request, Step, judge
from ansible_collections.groundup.cloud.tests.e2e.probing import LONGEST, Ask, Asked, Line, Prober, both, served
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

ANSWERS: list[str] = []  # what the server does next: an error's code, "close", "drop"; empty: it answers

SAID = {"500": b'{"kind": "Status", "message": "etcdserver: leader changed"}', "502": b"<html>" + b"x" * 1000}


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers as it is told to."""

    protocol_version = "HTTP/1.1"
    connections = 0

    def setup(self) -> None:
        super().setup()
        type(self).connections += 1

    def do_GET(self) -> None:
        told = ANSWERS.pop(0) if ANSWERS else "200"
        if told == "drop":
            self.close_connection = True
            return
        body = SAID.get(told, b"{}")
        self.send_response(int(told) if told.isdigit() else 200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Set-Cookie", "secret")
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = told == "leave"  # without a word about it

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    """A server on loopback."""
    ANSWERS.clear()
    Handler.connections = 0
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as one:
        one.daemon_threads = True
        thread = threading.Thread(target=one.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{one.server_port}"
        one.shutdown()
        thread.join()


def get(ask: Ask) -> None:
    ask("GET", "/")


def rounds(server: str, *answers: str, kept: bool) -> Asked:
    """Return a lane after a round for each answer, and one more."""
    lane = Asked(line=Line(server, kept=kept), work=get)
    for told in (*answers, "200"):
        ANSWERS.append(told)
        lane.once(time.monotonic())
        time.sleep(0.05)  # for the server's farewell to arrive
    lane.line.close()
    return lane


def test_an_error_and_no_answer_are_counted_apart_and_nothing_is_asked_twice(server: str) -> None:
    found = judge(rounds(server, "200", "503", "drop", kept=False).requests, every=0.05)
    assert (found.sent, found.failed, found.unanswered, found.not_measured) == (4, 1, 1, 0)
    assert found.causes == {"HTTP 503": 1, "RemoteDisconnected": 1}
    assert not found.good


def test_a_fault_keeps_what_the_server_said_and_what_was_done_to_it_meanwhile(server: str) -> None:
    lane = rounds(server, "200", "500", "502", "drop", kept=False)
    first = lane.requests[1]
    steps = [
        Step(began=0.0, name="before"),
        Step(began=first.began, name="hand over"),
        Step(began=first.ended, name="end"),
    ]
    told, other, silent = judge(lane.requests, every=0.05, steps=steps).faults
    assert (told.asked, told.cause, told.said) == ("GET /", "HTTP 500", "etcdserver: leader changed")
    assert told.steps == ["hand over", "end"]
    assert told.headers["Content-Length"] == str(len(SAID["500"]))
    assert "Set-Cookie" not in told.headers
    assert (len(other.said), other.steps) == (LONGEST, ["end"])
    assert (silent.cause, silent.said) == ("RemoteDisconnected", "Remote end closed connection without response")


def test_a_connection_that_the_server_closed_while_idle_is_opened_again_before_anything_is_sent(server: str) -> None:
    lane = rounds(server, "200", "leave", kept=True)
    found = judge(lane.requests, every=0.05, reopened=lane.line.reopened)
    assert (found.sent, found.unanswered, found.reopened, Handler.connections) == (3, 0, 1, 2)


def test_a_request_on_a_kept_connection_that_is_cut_is_a_fault(server: str) -> None:
    found = judge(rounds(server, "200", "drop", kept=True).requests, every=0.05)
    assert (found.sent, found.unanswered) == (3, 1)


@pytest.mark.parametrize(("kept", "connections"), [(False, 4), (True, 1)])
def test_a_lane_has_a_connection_for_each_request_or_one_for_all(server: str, kept: bool, connections: int) -> None:
    assert judge(rounds(server, "200", "200", "200", kept=kept).requests, every=0.05).good
    assert Handler.connections == connections


def test_what_follows_a_failed_request_of_a_round_is_not_asked(server: str) -> None:
    def work(ask: Ask) -> None:
        ask("GET", "/first")
        ask("GET", "/second")

    ANSWERS.extend(["200", "500"])
    lane = Asked(line=Line(server, kept=True), work=work)
    lane.once(time.monotonic())
    ANSWERS.append("500")
    lane.once(time.monotonic())
    lane.line.close()
    assert [one.cause for one in lane.requests] == ["", "HTTP 500", "HTTP 500"]


def request(begin: float, *, late: float = 0.0, seconds: float = 0.01, cause: str = "") -> Request:
    return Request(due=begin - late, began=begin, ended=begin + seconds, cause=cause)


def test_a_request_that_began_a_second_late_is_not_measured_and_never_good() -> None:
    found = judge([request(1.0), request(3.0, late=1.0), request(4.0, late=0.9)], every=1.0)
    assert (found.sent, found.not_measured, found.good) == (3, 1, False)


def test_a_good_answer_while_the_prober_itself_stood_still_is_not_measured_and_a_fault_stays_one() -> None:
    asked = [request(1.0), request(2.0, seconds=1.5), request(3.0, cause="HTTP 503"), request(4.0)]
    found = judge(asked, every=1.0, delays=[(2.2, 3.4)])
    assert (found.not_measured, found.failed, found.good) == (1, 1, False)
    assert found.p99 == 0.01, "its own delay is not the server's"


def test_the_longest_gap_is_that_between_good_answers_without_the_interval() -> None:
    asked = [request(at, cause="" if at not in (3.0, 4.0) else "TimeoutError") for at in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)]
    assert judge(asked, every=1.0).gap == 2.0
    assert judge([*asked, request(7.0, cause="x"), request(9.5, cause="x")], every=1.0).gap == 2.5, "to the end as well"


def test_nothing_asked_is_not_good() -> None:
    assert not judge([], every=1.0).good


def test_every_lane_is_asked_and_told(server: str) -> None:
    prober = Prober(dict(both(server, get)), every=0.02)
    prober.start()
    until(lambda: prober.asked() > 10, seconds=60)
    ANSWERS.append("429")
    until(lambda: not ANSWERS, seconds=60)
    found = prober.stop()
    assert set(found) == {"new", "kept"}
    assert sum(lane.failed for lane in found.values()) == 1
    assert all(lane.sent > 1 for lane in found.values())


def test_a_prober_that_stood_still_says_so(server: str) -> None:
    prober = Prober(dict(both(server, get)), every=0.02)
    prober.start()
    until(lambda: prober.asked() > 10, seconds=60)
    asked = prober.asked()
    still = f"kill -STOP {os.getpid()}; sleep 1.5; kill -CONT {os.getpid()}"
    subprocess.run(["sh", "-c", still], check=True)
    until(lambda: prober.asked() > asked + 2, seconds=60)
    found = prober.stop()
    assert sum(lane.not_measured for lane in found.values()) >= 1
    assert not all(lane.good for lane in found.values())


def test_an_api_that_fails_at_rest_is_not_probed(server: str) -> None:
    ANSWERS.append("500")
    with pytest.raises(AssertionError, match="at rest"), served(dict(both(server, get))):
        pass
