"""What stands against a restore, and who restores etcd: from what hosts and databases said."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.restore import decide
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.restore.anew import Again
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.restore.decide import Control, Present
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.restore.table import table
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.disk import SetBackup
from ansible_collections.groundup.cloud.plugins.plugin_utils.backup.sets.mariadb import Contents
from ansible_collections.groundup.cloud.tests.unit.kubernetes_layer.conftest import CLUSTER

from .restoring import NETWORKS

ANEW: dict[str, Any] = {"member": False, "anew": True, "now": {}, "passed": {}, "keys": False, "image": ""}
AT = datetime(2026, 11, 28, 15, tzinfo=UTC)
IMAGE = "10.0.0.1:5000/etcd:3.6.8-0@sha256:" + "0" * 64
BOTH = ("etcd", "mariadb")
ALIVE = {"version": "3.6.8", "cluster": "1", "revision": 900, "keys": 50, "members": ["control-1"]}


def host(**said: Any) -> dict[str, Any]:
    return {"member": True, "now": {}, "passed": {}, "keys": True, "image": IMAGE, **said}


def control(**answers: Any) -> Control:
    named = {name.replace("_", "-"): said for name, said in answers.items()}
    return Control(answers=named or {"control-1": host()}, first="control-1")


def backup(**changes: Any) -> SetBackup:
    taken = {"taken": "2026-11-28T14:00:00+00:00", "files": 3}
    parts = {
        "kubernetes-keys": {**taken, "networks": NETWORKS}, "state": dict(taken),
        "mariadb": {**taken, "rows": {"nova.instances": [7, 9], "nova.flavors": [3, 3]}},
        "etcd": {**taken, "keys": [41, 40], "revision": [800, 810]},
    }  # fmt: skip
    whole = SetBackup(
        name="20261128T140000Z", site="lab", store="store-1", sha256="0", size=1, counts={}, key="", parts=parts,
        versions={"etcd": "3.6.8", "MariaDB": "11.8.9-MariaDB", "OpenStack": "2026.1"}, heads={"nova": "a"},
        fingerprints={"nova/db": "x"},
    )  # fmt: skip
    return replace(whole, **changes)


def present(**changes: Any) -> Present:
    return replace(Present(control=control(), store="store-1", releases=("2026.1",)), **changes)


def against(made: SetBackup, now: Present, *, parts: tuple[str, ...] = BOTH, days: float = 2) -> dict[str | None, str]:
    return {one.code: one.text for one in decide.reasons(made, parts, now, days=days, at=AT)}


def test_a_set_that_fits_a_site_that_lost_all_is_restored_without_a_consent() -> None:
    assert against(backup(), present()) == {}


@pytest.mark.parametrize(
    ("of", "releases", "fits"),
    [
        ("2026.1", ("2026.2",), False),
        ("2026.1, 2026.2", ("2026.2",), False),
        ("2026.1, 2026.2", ("2026.1", "2026.2"), True),
        ("2026.1", ("2026.2", "2026.1"), True),
    ],
)
def test_schemas_of_another_release_fit_while_the_step_from_it_is_open(
    of: str, releases: tuple[str, ...], *, fits: bool
) -> None:
    made = backup(versions={"etcd": "3.6.8", "MariaDB": "11.8.9-MariaDB", "OpenStack": of})
    said = against(made, present(releases=releases))
    assert said == ({} if fits else {None: f"its schemas are of OpenStack {of}, the site runs 2026.2"})


LIVES = Contents(version="11.8.9-MariaDB", heads={"nova": "a"}, rows={"nova.instances": 12})


@pytest.mark.parametrize(
    ("made", "now", "code", "said"),
    [
        (backup(store="other"), present(), None, "another secrets store"),
        (backup(), present(store=""), None, "another secrets store (store-1; this site's is not there)"),
        (backup(parts={}), present(), None, "it has no part etcd, mariadb"),
        (backup(versions={**backup().versions, "etcd": "3.7.3"}), present(), None, "it is of etcd 3.7.3"),
        (backup(versions={**backup().versions, "etcd": "3.4.1"}), present(), None, "it is of etcd 3.4.1"),
        (backup(versions={**backup().versions, "OpenStack": "2026.2"}), present(), None, "of OpenStack 2026.2"),
        (backup(versions={**backup().versions, "MariaDB": "12.0"}), present(database=LIVES), None, "of MariaDB 12.0"),
        (backup(), present(unknown_heads={"nova": "zz"}), None, "they have no migration nova zz"),
        (backup(), present(control=control(control_1=host(member=False))), None, "no control host is a member"),
        (
            backup(), present(control=control(control_1=host(member=False, etcd_data=True), control_2=ANEW)), None,
            "all that answer have nothing of Kubernetes: control-1 has data of etcd",
        ),
        (backup(), present(control=control(control_1=host(), control_2=None)), "control-host-away", "control-2"),
        (backup(), present(control=control(control_1=host(now=ALIVE))), "overwrite", "50 keys at revision 900"),
        (backup(), present(database=LIVES), "overwrite", "1 databases, 12 rows"),
        (backup(), present(database_why="Kubernetes does not answer"), "overwrite", "Kubernetes does not answer"),
        (backup(), present(control=control(control_1=host(etcd_data=True, why="refused"))), "overwrite", "refused"),
        (backup(), present(control=control(control_1=host(etcd_data=True))), "overwrite", "it does not run"),
        (backup(), present(fingerprints={"nova/db": "y"}), "other-secrets", "nova/db"),
    ],
)  # fmt: skip
def test_what_stands_against_a_restore_is_named(made: SetBackup, now: Present, code: str | None, said: str) -> None:
    assert said in against(made, now)[code]


WHOLE = ("kubernetes-keys", "etcd")
KEYS = ("pki/ca.crt", "pki/ca.key", "pki/etcd/ca.key", "pki/sa.key")


def lost(**changes: Any) -> Present:
    """A site whose control hosts were all made anew."""
    hosts = Control(
        answers=dict.fromkeys(("control-1", "control-2", "control-3"), ANEW), first="control-1", image=IMAGE
    )
    given: dict[str, Any] = {"cluster": CLUSTER, "files": KEYS, "ca": "a", "known": "a"}
    return present(control=hosts, again=Again(**given | changes))


def saved(**versions: str) -> SetBackup:
    return backup(versions={**backup().versions, "Kubernetes": "1.36.3", **versions})


def test_control_hosts_that_were_all_made_anew_get_keys_and_etcd_without_a_consent() -> None:
    now = lost()
    assert against(saved(), now, parts=WHOLE) == {}
    assert now.control.target("") == "control-1"
    assert [row["now"] for row in table(saved(), WHOLE, now)] == [
        "missing on control-1, control-2, control-3",
        "none, made anew: control-1, control-2, control-3",
    ]
    assert decide.steps(WHOLE, now.control, "") == [
        "put back the keys of Kubernetes: control-1",
        "put etcd's data in place: control-1",
        "start etcd and the API server on these data: control-1",
        "join as new members of etcd: control-2, control-3",
    ]


@pytest.mark.parametrize(
    ("made", "now", "parts", "said"),
    [
        (saved(), lost(), ("etcd",), "name kubernetes-keys in restore_parts, too"),
        (saved(), lost(), ("kubernetes-keys",), "keys alone make none of them; name etcd in restore_parts, too"),
        (saved(), lost(files=KEYS[:2]), WHOLE, "its part kubernetes-keys lacks pki/etcd/ca.key, pki/sa.key"),
        (saved(), lost(ca="b"), WHOLE, "it is of the cluster with the CA b..., this site's has a..."),
        (saved(), lost(ca="b"), WHOLE, "if the lost cluster was the set's, move cluster.json and kubeconfig away"),
        (saved(), lost(unread=True), WHOLE, "its Secrets at rest need other keys than control hosts get"),
        (saved(Kubernetes="1.37.2"), lost(), WHOLE, "it is of Kubernetes 1.37.2, the site file says 1.36.3"),
        (saved(etcd="3.7.1"), lost(), WHOLE, "it is of etcd 3.7.1, the control hosts start 3.6.8"),
        (saved(), lost(api="https://10.0.0.2:6443"), WHOLE, "Kubernetes answers, or hangs, at https://10.0.0.2:6443"),
    ],
)
def test_a_set_that_makes_no_cluster_of_empty_hosts_is_refused(
    made: SetBackup, now: Present, parts: tuple[str, ...], said: str
) -> None:
    assert said in against(made, now, parts=parts)[None]


def test_hosts_are_not_all_anew_while_one_has_anything_of_a_cluster_or_the_first_is_silent() -> None:
    partly = control(control_1=ANEW, control_2=host(now=ALIVE), control_3=ANEW)
    assert (partly.target(""), partly.makes_anew("")) == ("control-2", False)
    assert "etcd lives (control-2: 50 keys" in against(saved(), present(control=partly), parts=WHOLE)["overwrite"]
    assert decide.steps(WHOLE, partly, "") == [
        "end etcd and the control plane: control-2",
        "put etcd's data in place: control-2",
        "start etcd and the API server on these data: control-2",
        "join as new members of etcd: control-1, control-3",
    ]
    assert control(control_1=ANEW, control_2=host(member=False)).target("") == ""
    assert control(control_1=None, control_2=ANEW).target("") == ""
    silent = replace(lost(), control=control(control_1=ANEW, control_2=None))
    assert "control-2 did not answer" in against(saved(), silent, parts=WHOLE)["control-host-away"]


NAME = "20261128T150000Z"
PUT: dict[str, Any] = {"etcd_data": True, "passed": {"restore": NAME, "did": "put"}}


def test_a_restore_onto_empty_hosts_that_goes_on_stays_on_the_first() -> None:
    now = present(control=control(control_1={**ANEW, **PUT}, control_2=ANEW), restore=NAME)
    assert now.control.makes_anew(NAME), "nothing runs there: an API that answers is of another etcd"
    assert against(saved(), now, parts=WHOLE) == {}
    assert now.control.target(NAME) == "control-1"
    assert decide.steps(WHOLE, now.control, NAME)[0] == "start etcd and the API server on these data: control-1"
    unrecorded = control(control_1={**ANEW, "etcd_data": True}, control_2=ANEW)  # killed after the rename
    assert against(saved(), present(control=unrecorded, restore=NAME), parts=WHOLE) == {}


@pytest.mark.parametrize("first", [ANEW, {**ANEW, **PUT}, host(**PUT, now={**ALIVE, "cluster": "9"})])
@pytest.mark.parametrize(
    ("back", "said"),
    [(host(now=ALIVE), "etcd lives (control-2: 50 keys"), (host(etcd_data=True), "control-2: it does not run")],
)
def test_an_old_etcd_that_comes_back_while_a_restore_goes_on_needs_a_consent(
    first: dict[str, Any], back: dict[str, Any], said: str
) -> None:
    now = present(control=control(control_1=first, control_2=back, control_3=ANEW), restore=NAME)
    assert said in against(saved(), now, parts=WHOLE)["overwrite"]
    assert not now.control.makes_anew(NAME), "the API that answers is that host's"


def test_hosts_that_have_joined_the_restored_etcd_meanwhile_are_left_alone() -> None:
    """A run was killed before they were cleared, and the layer alone has joined them."""
    hosts = control(control_1=host(**PUT, now=ALIVE), control_2=host(now=ALIVE), control_3=ANEW)
    assert hosts.passed(NAME) == {"control-1": "put", "control-2": "joined"}
    assert against(saved(), present(control=hosts, restore=NAME), parts=WHOLE) == {}
    assert hosts.passed("") == {}


def test_a_check_shows_what_is_still_to_start_and_to_join_once_all_have_passed() -> None:
    left = {**ANEW, "passed": {"restore": NAME, "did": "left"}}
    hosts = control(control_1={**ANEW, **PUT}, control_2=left, control_3=left)
    assert decide.steps(WHOLE, hosts, NAME) == [
        "start etcd and the API server on these data: control-1",
        "join as new members of etcd: control-2, control-3",
    ]
    stopped = control(control_1=host(**PUT), control_2=left)  # killed before the kubelet was started
    assert decide.steps(("etcd",), stopped, NAME)[0] == "start etcd and the API server on these data: control-1"
    runs = host(**PUT, now=ALIVE)
    assert decide.steps(WHOLE, control(control_1=runs, control_2=left, control_3=runs), NAME) == [
        "join as new members of etcd: control-2"
    ]


def test_age_and_unlike_times_need_a_consent() -> None:
    old = backup()
    old.parts["mariadb"]["taken"] = (AT - timedelta(days=3)).isoformat()
    found = against(old, present())
    assert "3.0 days old, 2 are allowed" in found["outdated"]
    assert "its parts are of unlike times: " in found["mixed-times"]
    assert against(old, present(), parts=("etcd",)) == {}


def test_a_set_restores_a_controller_whose_store_is_lost() -> None:
    assert against(backup(), present(store=""), parts=("state",)) == {}


def test_a_restore_that_goes_on_asks_for_no_second_consent_and_leaves_alone_who_has_passed() -> None:
    name = "20261128T150000Z"
    hosts = control(
        control_1=host(member=False), control_2=host(passed={"restore": name, "did": "put"}, now=ALIVE),
        control_3=host(passed={"restore": name, "did": "left"}, member=False),
    )  # fmt: skip
    now = present(control=hosts, restore=name, database=LIVES, placed=True)
    assert against(backup(), now) == {}
    assert hosts.target(name) == "control-2"
    assert hosts.passed(name) == {"control-2": "put", "control-3": "left"}
    assert hosts.passed("another") == {}
    assert [row["now"] for row in table(backup(), BOTH, now)] == [
        "restored already on control-2",
        "restored already",
    ]


def test_the_plans_first_control_host_restores_unless_it_is_no_member() -> None:
    assert control(control_1=host(), control_2=host()).target("") == "control-1"
    assert control(control_1=host(member=False), control_2=host()).target("") == "control-2"
    assert control(control_1=None).target("") == ""


def test_the_table_says_what_replaces_what() -> None:
    now = present(control=control(control_1=host(now=ALIVE)), database=LIVES)
    (row,) = table(backup(), ("mariadb",), now, logs="binary logs to noon")
    assert row["set"] == "1 databases, 10 rows, of 2026-11-28 14:00:00 UTC; binary logs to noon"
    assert table(backup(), ("mariadb", "etcd", "kubernetes-keys", "state"), now) == [
        {"part": "state", "now": "secrets store store-1", "set": "3 files, of 2026-11-28 14:00:00 UTC"},
        {"part": "kubernetes-keys", "now": "there: not touched", "set": "3 files, of 2026-11-28 14:00:00 UTC"},
        {
            "part": "etcd", "now": "control-1: 50 keys at revision 900",
            "set": "40 keys at revision 800, of 2026-11-28 14:00:00 UTC",
        },
        {
            "part": "mariadb", "now": "1 databases, 12 rows",
            "set": "1 databases, 10 rows, of 2026-11-28 14:00:00 UTC",
        },
    ]  # fmt: skip
