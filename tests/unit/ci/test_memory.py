"""Who a lab's memory is said to belong to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.ci import memory
from ansible_collections.groundup.cloud.ci.memory import MIB, Use


@pytest.mark.parametrize(
    ("hostname", "argv", "name"),
    [
        ("keystone-api-5b6c9d7f4-x2zlq", ["(wsgi:k", "-DFOREGROUND"], "keystone-api"),
        ("mariadb-server-0", ["mariadbd"], "mariadb-server"),
        ("nova-cell-setup-9f8d2", ["python3", "nova-manage"], "nova-cell-setup"),
        ("kube-flannel-x7k2c", ["flanneld"], "kube-flannel"),
        ("control-1", ["/usr/local/bin/etcd", "--name=control-1"], "etcd"),
        ("worker-1", ["/opt/groundup/bin/python3", "-u", "/opt/bin/nova-compute", "--config-dir"], "nova-compute"),
        ("worker-1", ["neutron-ovn-agent: worker (1 of 2)", ""], "neutron-ovn-agent"),
        ("worker-1", ["/bin/bash"], "bash"),
        ("", [""], "?"),
    ],
)
def test_a_pods_process_is_its_workloads_and_any_other_its_programs(hostname: str, argv: list[str], name: str) -> None:
    host = hostname if hostname in ("control-1", "worker-1") else "worker-2"
    assert memory.user(host, hostname, argv) == name


def test_the_sum_has_the_kernel_and_files_in_memory_that_nobody_mapped_and_no_page_cache() -> None:
    used = [
        Use(host="worker-1", user="nova-api", size=200 * MIB, shared=0),
        Use(host="worker-2", user="nova-api", size=100 * MIB, shared=10 * MIB),
        Use(host="worker-1", user="sshd", size=5 * MIB, shared=0),
    ]
    of_group = {"kernel": 40 * MIB, "shmem": 25 * MIB, "cache": 9000 * MIB}
    assert memory.total(used, of_group) == (305 + 40 + 15) * MIB
    lines = [line.split(maxsplit=1) for line in memory.table(used, of_group).splitlines()]
    assert lines[1] == ["300", "        2  nova-api (worker-1, worker-2)".strip()]
    assert ["360", "3  all"] in lines
    assert ["205", "of it processes of worker-1"] in lines


def test_a_process_of_this_machine_is_measured_and_one_that_has_ended_is_left_out(tmp_path: Path) -> None:
    found = memory.use("worker-1", Path(f"/proc/{os.getpid()}"))
    assert found
    assert found.size > MIB
    assert memory.use("worker-1", tmp_path / "1") is None


@pytest.mark.parametrize(
    ("stat", "kernel"),
    [("total_rss 9\ntotal_shmem 3\ntotal_cache 5\n", "7\n"), ("anon 9\nshmem 3\nfile 5\nkernel 7\n", None)],
    ids=["version 1", "version 2"],
)
def test_both_versions_of_control_groups_are_read(
    stat: str, kernel: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = tmp_path / "memory/groundup/lab"
    group.mkdir(parents=True)
    (group / "memory.stat").write_text(stat)
    if kernel:
        (group / "memory.kmem.usage_in_bytes").write_text(kernel)
    monkeypatch.setattr(memory, "hierarchies", lambda: [tmp_path / "cpu", tmp_path / "memory"])
    assert memory.group("lab") == {"kernel": 7, "shmem": 3, "cache": 5}
