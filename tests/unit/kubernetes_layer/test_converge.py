"""From any state a host can be in, one run makes it what it is to be, or says why not."""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._host.downloads import Download
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import converge as steps
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import volumes
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.certificates import fingerprint, first_certificate
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.spec import Node, Paths
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm.state import Membership

from .conftest import CA, JOIN, KEY, FakeHost, begin, certificate, finish, pem, run, write

FINGERPRINT = fingerprint(first_certificate(CA) or b"")


def snapshot(root: Path) -> dict[str, tuple[bytes, int]]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): (path.read_bytes(), path.stat().st_mode) for path in files}


def test_the_first_host_makes_the_cluster_and_a_second_run_changes_nothing(
    first: Node, host: FakeHost, paths: Paths
) -> None:
    made = run(first, host)
    assert made.result.membership is Membership.MEMBER
    assert made.result.ca == FINGERPRINT
    assert host.verbs() == ["kubeadm init"]
    before = snapshot(paths.root)
    again = run(first, host, expected_ca=FINGERPRINT)
    assert again.actions == []
    assert snapshot(paths.root) == before


def test_a_worker_is_prepared_asks_to_join_and_joins_when_invited(worker: Node, host: FakeHost) -> None:
    prepared = run(worker, host)
    assert (prepared.result.joins, prepared.result.membership) == (True, Membership.BLANK)
    assert host.verbs() == ["crictl pull"]
    joined = run(worker, host, join=JOIN)
    assert (joined.result.joins, joined.result.membership) == (False, Membership.MEMBER)
    assert run(worker, host, expected_ca=FINGERPRINT).actions == []


def test_a_host_that_joins_once_more_keeps_no_interface_of_its_former_pod_network(
    worker: Node, host: FakeHost, paths: Paths
) -> None:
    """`kubeadm reset` leaves them, and the host's pods have another network now."""
    paths.at("/sys/class/net/cni0").mkdir(parents=True)
    run(worker, host, join=JOIN)
    removed, joined = (
        next(number for number, argv in enumerate(host.commands) if tuple(argv[:2]) == start)
        for start in (("ip", "link"), ("kubeadm", "join"))
    )
    assert removed < joined
    assert host.commands[removed] == ["ip", "link", "delete", "cni0"]


@pytest.mark.parametrize("kind", ["first", "worker"])
def test_a_host_that_becomes_a_member_pulls_what_pods_will_run_in_the_background(
    kind: str, request: pytest.FixtureRequest, host: FakeHost
) -> None:
    node = dataclasses.replace(request.getfixturevalue(kind), later_images=("database:1", "api:1"))
    line = "pull in the background: database:1, api:1"
    assert line in run(node, host, check=True).actions
    assert host.commands == []
    assert line in run(node, host).actions
    (command,) = (argv for argv in host.commands if argv[0] == "systemd-run")
    pulls = [word.partition("ExecStartPre=")[2] for word in command if "pull" in word]
    assert pulls == [f"-{steps.CRICTL} pull {image}" for image in node.later_images], "one that fails ends nothing"
    host.commands.clear()
    if kind == "worker":
        assert line not in run(node, host, join=JOIN).actions
    assert run(node, host, expected_ca=FINGERPRINT).actions == [], "a member pulls nothing"
    assert "systemd-run" not in [argv[0] for argv in host.commands]


def test_a_member_pulls_the_images_of_a_release_to_come_when_it_is_asked(worker: Node, host: FakeHost) -> None:
    for check, commands in ((True, []), (False, ["systemd-run"])):
        changes = Changes(check=check)
        steps.pull_later(dataclasses.replace(worker, later_images=("api:2",)), host, changes)
        assert changes.done == ["pull in the background: api:2"]
        assert [argv[0] for argv in host.commands] == commands


def test_a_node_whose_images_are_not_pulled_in_the_background_is_made_with_a_warning(
    first: Node, host: FakeHost
) -> None:
    def fails() -> None:
        raise GroundupError("no systemd-run", where="w", why="y", remedy="r")

    host.leaves["systemd-run --quiet"] = fails
    made = run(dataclasses.replace(first, later_images=("api:1",)), host)
    assert made.result.membership is Membership.MEMBER
    assert ["no systemd-run" in warning for warning in made.result.changes.warnings] == [True]


def test_the_invitation_is_not_on_the_host_after_the_join(worker: Node, host: FakeHost, paths: Paths) -> None:
    run(worker, host)
    run(worker, host, join=JOIN)
    assert not [name for name, (data, _) in snapshot(paths.root).items() if JOIN.token.encode() in data]
    assert not any(JOIN.token in word for argv in host.commands for word in argv)


def test_the_invitation_is_removed_when_the_join_fails_too(worker: Node, host: FakeHost, paths: Paths) -> None:
    def fails() -> None:
        raise GroundupError("no", where="w", why="y", remedy="r")

    host.leaves["kubeadm join"] = fails
    with pytest.raises(GroundupError):
        run(worker, host, join=JOIN)
    assert not (paths.site / "join.yaml").exists()


def test_no_cluster_is_made_before_every_control_host_was_asked_for_one(first: Node, host: FakeHost) -> None:
    with pytest.raises(GroundupError, match="were not asked whether they have one"):
        run(dataclasses.replace(first, surveyed=False), host)
    assert host.verbs() == []


def test_a_host_that_was_about_to_join_makes_no_cluster_of_its_own(first: Node, host: FakeHost, paths: Paths) -> None:
    write(paths, "/var/lib/etcd/member/wal/0", "data")
    begin(paths, verb="join")
    with pytest.raises(GroundupError, match="control-1 was joining the cluster test"):
        run(first, host)
    assert host.verbs() == []
    assert paths.at("/var/lib/etcd/member/wal/0").read_text() == "data"


def test_a_blank_first_host_never_makes_a_second_cluster(first: Node, host: FakeHost) -> None:
    outcome = run(first, host, expected_ca=FINGERPRINT)
    assert outcome.result.joins
    assert "kubeadm init" not in host.verbs()


def test_a_host_of_another_cluster_is_left_as_it_is(worker: Node, host: FakeHost, paths: Paths) -> None:
    finish(paths, control=False, ca=pem(certificate()))
    before = snapshot(paths.root)
    with pytest.raises(GroundupError, match="another Kubernetes cluster"):
        run(worker, host, expected_ca=FINGERPRINT)
    after = {name: value for name, value in snapshot(paths.root).items() if not name.startswith("run/")}
    assert after == before
    assert host.commands == []
    assert host.services == []


@pytest.mark.parametrize("state", ["blank", "partial", "member"])
def test_check_mode_says_what_would_be_done_and_touches_nothing(
    first: Node, host: FakeHost, paths: Paths, state: str
) -> None:
    if state == "partial":
        write(paths, "/etc/kubernetes/pki/ca.crt", CA)
        begin(paths, verb="init")
    if state == "member":
        run(first, host)
        write(paths, "/etc/containerd/config.toml", "changed by hand")
    before = snapshot(paths.root)
    host.commands.clear()
    outcome = run(first, host, check=True)
    assert outcome.actions
    assert ("initialise the cluster" in outcome.actions) == (state != "member")
    assert ("reset the half-made node" in outcome.actions) == (state == "partial")
    assert snapshot(paths.root) == before
    assert set(host.verbs()) <= {"crictl ps"}  # a look


def test_check_mode_on_a_finished_host_predicts_nothing(first: Node, host: FakeHost) -> None:
    run(first, host)
    assert run(first, host, check=True).actions == []


def test_no_diff_and_no_action_shows_the_encryption_key(first: Node, host: FakeHost) -> None:
    assert KEY not in str(run(first, host, check=True).result.result())
    assert KEY not in str(run(first, host).result.result())


def test_no_diff_shows_the_login_of_the_registry_neither_when_it_comes_nor_when_it_goes(
    first: Node, host: FakeHost, paths: Paths
) -> None:
    known = dataclasses.replace(first, registry_login="robot:sesame")
    file = paths.at("/etc/containerd/config.toml")
    for node, mode in ((first, 0o644), (known, 0o600), (first, 0o644)):
        assert "sesame" not in str(run(node, host, check=True).result.result())
        assert "sesame" not in str(run(node, host).result.result())
        assert ("sesame" in file.read_text(), file.stat().st_mode & 0o777) == (node is known, mode)
    assert host.services.count(("restart", "containerd.service")) >= 2


def test_a_changed_kubelet_setting_restarts_the_kubelet_of_a_member_only(first: Node, host: FakeHost) -> None:
    run(first, host)
    assert ("restart", "kubelet.service") not in host.services
    node = dataclasses.replace(first, cluster=dataclasses.replace(first.cluster, kubelet={"maxPods": 50}))
    outcome = run(node, host)
    assert "restart kubelet.service" in outcome.actions
    assert ("restart", "kubelet.service") in host.services


@pytest.mark.parametrize("left", ["bootstrap-kubelet.conf", "site/join.yaml"])
def test_a_bootstrap_credential_a_killed_join_left_is_removed(
    worker: Node, host: FakeHost, paths: Paths, left: str
) -> None:
    """The other holds the key of the cluster's certificates, too: kubeadm went on when its run was killed."""
    finish(paths, control=False, ca=CA)
    write(paths, f"/etc/kubernetes/{left}", "token")
    removal = "remove the bootstrap credential a killed join left"
    assert removal in run(worker, host, check=True).actions
    assert removal in run(worker, host).actions
    assert not (paths.kubernetes / left).exists()
    assert run(worker, host).actions == []


def test_programs_come_by_digest_and_a_wrong_one_is_not_installed(
    worker: Node, host: FakeHost, paths: Paths, tmp_path: Path
) -> None:
    served = tmp_path / "served"
    served.write_bytes(b"program")
    digest = hashlib.sha256(b"program").hexdigest()
    (tmp_path / "served.sha256").write_text(f"{digest}  served\n")
    url = served.as_uri()
    good = Download(url=url, sha256=None, path="/usr/local/bin/kubelet", archive=False)
    run(dataclasses.replace(worker, downloads=(good,)), host)
    installed = paths.at(good.path)
    assert installed.read_bytes() == b"program"
    assert installed.stat().st_mode & 0o777 == 0o755
    assert "fetch /usr/local/bin/kubelet" not in run(dataclasses.replace(worker, downloads=(good,)), host).actions
    bad = dataclasses.replace(good, path="/usr/local/bin/kubeadm", sha256="0" * 64)
    with pytest.raises(GroundupError, match="expected 000"):
        run(dataclasses.replace(worker, downloads=(bad,)), host)
    assert not paths.at(bad.path).exists()


@pytest.mark.parametrize("before", [None, 0o755])
def test_no_account_but_root_gets_at_the_volumes_of_a_node(
    before: int | None, first: Node, host: FakeHost, paths: Paths
) -> None:
    place = paths.at(volumes.DIRECTORY)
    if before:
        place.mkdir(parents=True)
        place.chmod(before)
        (place / "pvc-1").mkdir()
    run(first, host)
    assert place.stat().st_mode & 0o7777 == 0o700
    place.chmod(0o755)  # as the class's provisioner makes it where it is missing, or a hand
    told = run(first, host, expected_ca=FINGERPRINT, check=True).actions
    assert [line.endswith(volumes.DIRECTORY) for line in told] == [True]
    assert place.stat().st_mode & 0o7777 == 0o755
    run(first, host, expected_ca=FINGERPRINT)
    assert place.stat().st_mode & 0o7777 == 0o700
