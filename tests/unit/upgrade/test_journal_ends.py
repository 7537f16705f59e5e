"""The record of an upgrade ends with the cluster that it is about."""

from __future__ import annotations

import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.plugins.plugin_utils.upgrade import journal


def test_the_end_of_a_lab_whose_state_stays_removes_the_record() -> None:
    tasks = yaml.safe_load((COLLECTION / "roles/lab_hosts/tasks/absent.yml").read_text())
    (records,) = [task["loop"] for task in tasks if "ansible.builtin.file" in task]
    assert {"cluster.json", *journal.FILES} <= {*records}


def test_whether_an_upgrade_is_under_way_is_not_asked_of_kubelets_alone_which_change_last() -> None:
    assert "component=kube-apiserver" in journal.KUBERNETES.unreadable
    assert journal.KUBERNETES.verb in journal.KUBERNETES.unreadable
