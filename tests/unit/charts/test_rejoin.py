"""Which member of RabbitMQ starts anew when a partition stays on record, and when none does."""

from __future__ import annotations

import importlib.util
import socket
from pathlib import Path
from types import ModuleType

import pytest

FILE = Path(__file__).resolve().parents[3] / "charts/rabbitmq/files/rejoin.py"


@pytest.fixture(scope="module")
def rejoin() -> ModuleType:
    spec = importlib.util.spec_from_file_location("rejoin", FILE)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def alone(rejoin: ModuleType, *runs_with: str) -> list[str]:
    """Return the members that start anew, where each has a database that runs with those of ``runs_with``."""
    everybody = [str(number) for number in range(len(runs_with))]
    return [
        me
        for me, others in zip(everybody, runs_with, strict=True)
        if rejoin.is_alone(me, [{"name": one, "running": one in others} for one in everybody])
    ]


@pytest.mark.parametrize(
    ("runs_with", "found"),
    [
        (("012", "012", "012"), []),
        (("02", "1", "02"), ["1"]),  # as it was seen
        (("0", "12", "12"), ["0"]),
        (("02", "", "02"), []),  # it is paused, or starts
        (("01", "01"), []),
        (("0", "1"), ["1"]),
    ],
)
def test_who_runs_without_most_others_starts_anew(
    rejoin: ModuleType, runs_with: tuple[str, ...], found: list[str]
) -> None:
    assert alone(rejoin, *runs_with) == found


def test_a_member_that_cannot_be_reached_is_no_reason(rejoin: ModuleType) -> None:
    """The network is cut, or the others are off: `pause_minority` rules."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        there = ("127.0.0.1", listener.getsockname()[1])
        assert rejoin.reachable([there])
    assert not rejoin.reachable([there])
