"""What `rbd bench` and a guest say, as the benchmark of volumes reads it."""

from __future__ import annotations

import pytest
from ansible_collections.groundup.cloud.ci.bench.volumes import rate_of_bench, rate_of_guest, reachable

BENCH = """\
bench  type write io_size 4096 io_threads 1 bytes 4194304 pattern sequential
  SEC       OPS   OPS/SEC   BYTES/SEC
    1       640   650.112   2.5 MiB/s
elapsed: 1   ops: 1024   ops/sec: 700.5   bytes/sec: 2.7 MiB/s
"""


def test_rates_are_bytes_a_second() -> None:
    assert rate_of_bench(BENCH, size=4096) == 700.5 * 4096
    assert rate_of_guest("31.5 33.5\n", size=4_000_000) == 2_000_000


def test_output_without_a_rate_is_an_error_that_shows_it() -> None:
    with pytest.raises(ValueError, match="no rate: rbd: error"):
        rate_of_bench("rbd: error opening image", size=4096)


def test_a_guest_is_judged_where_its_own_part_of_a_write_leaves_room_for_the_bound() -> None:
    assert reachable(100, 400)
    assert not reachable(100, 399)
