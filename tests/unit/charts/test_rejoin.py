"""Which member of RabbitMQ starts anew when a partition stays on record, and when none does."""

from __future__ import annotations

import importlib.util
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


def odd(rejoin: ModuleType, record: dict[str, str], *, silent: str = "") -> list[str]:
    """Return the members that start anew, of those with this record."""
    nodes = [{"name": name, "running": name != silent, "partitions": list(whom)} for name, whom in record.items()]
    return [name for name in record if rejoin.is_odd(name, rejoin.partitions(nodes))]


@pytest.mark.parametrize(
    ("record", "found"),
    [
        ({"0": "", "1": "", "2": ""}, []),
        ({"0": "1", "1": "02", "2": ""}, ["1"]),  # as it was seen
        ({"0": "1", "1": "0", "2": ""}, ["1"]),
        ({"0": "12", "1": "0", "2": "0"}, ["0"]),
        ({"0": "12", "1": "02", "2": "01"}, ["2"]),
        ({"0": "1", "1": "", "2": ""}, ["0"]),
        ({"0": "1", "1": "0"}, ["1"]),
    ],
)
def test_one_member_at_a_time_starts_anew(rejoin: ModuleType, record: dict[str, str], found: list[str]) -> None:
    assert odd(rejoin, record) == found


def test_none_does_while_one_is_away(rejoin: ModuleType) -> None:
    """The partition is there: `pause_minority` rules."""
    assert odd(rejoin, {"0": "1", "1": "02", "2": ""}, silent="1") == []
