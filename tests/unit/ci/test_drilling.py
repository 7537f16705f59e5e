"""What a drill reports of what it measured."""

from __future__ import annotations

from pathlib import Path

from ansible_collections.groundup.cloud.tests.e2e.drilling import Loss, kept, lost, table


def test_only_stamps_of_before_the_loss_count_and_the_oldest_that_is_gone_is_the_rpo() -> None:
    stamps = [100.0004, 101.0, 102.0, 103.0, 110.0]
    assert lost(stamps, [100.0, 101.0], at=104.0) == (2, 2.0)
    assert lost(stamps, [100.0, 101.0, 102.0, 103.0], at=104.0) == (0, 0.0)


def test_a_table_says_what_was_not_lost_and_a_file_keeps_the_last_of_each_kind(tmp_path: Path) -> None:
    etcd = Loss(parts=("etcd",), kills=0, rto=61.25, objects_since_the_set=7)
    assert kept(etcd, tmp_path) == [etcd]
    both = Loss(parts=("etcd", "mariadb"), kills=2, rto=300.0, rows_lost=3, rpo_rows=4.5, objects_since_the_set=9)
    assert kept(both, tmp_path) == [etcd, both]
    again = Loss(parts=("etcd",), kills=0, rto=50.0, objects_since_the_set=8)
    assert kept(again, tmp_path) == [both, again]
    assert table([both, again]).splitlines() == [
        "lost          kills  RTO s  rows lost  RPO s  objects since the set",
        "etcd+mariadb  2      300.0  3          4.5    9                    ",
        "etcd          0      50.0   -          -      8                    ",
    ]
