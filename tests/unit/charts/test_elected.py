"""A service that runs in one of several pods at a time: when its pod starts it, and when it ends it."""

from __future__ import annotations

import urllib.error
from pathlib import Path

import pytest

from .elections import Cluster, Pod, elected, lease, pass_time, until


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def pods(cluster: Cluster) -> tuple[Pod, Pod, Pod]:
    """Three copies, the first of which runs the service."""
    first, second, third = (Pod(cluster, name) for name in ("first", "second", "third"))
    pass_time(1, first, second, third)
    assert first.service.up
    return first, second, third


def test_one_copy_runs_the_service_and_keeps_it(pods: tuple[Pod, ...]) -> None:
    pass_time(300, *pods)
    assert [pod.service.starts for pod in pods] == [1, 0, 0]


def test_a_dead_copy_is_followed_in_seconds(pods: tuple[Pod, ...]) -> None:
    first, *others = pods
    pass_time(20, *pods)
    taken = until(lambda: any(pod.service.up for pod in others), *others)
    assert taken <= lease.LEASE + elected.LOOK + 0.5
    assert first.cluster.spec["leaseTransitions"] == 2


def test_a_copy_without_the_api_ends_its_service_before_another_can_start_it(
    cluster: Cluster, pods: tuple[Pod, ...]
) -> None:
    """Though the service does not heed the word: pass_time looks whether two run."""
    first, *others = pods
    first.service.stubborn = True
    cluster.down = {"first"}
    taken = until(lambda: not first.service.up, *pods)
    assert first.service.killed == 1
    assert taken <= lease.LEASE - elected.KILL + 0.5
    until(lambda: any(pod.service.up for pod in others), *pods)
    cluster.down = set()
    pass_time(60, *pods)
    assert first.service.starts == 1, "it waits with the others"
    assert first.status is None


def test_a_service_that_heeds_the_word_is_not_killed_when_the_lease_is_lost(
    cluster: Cluster, pods: tuple[Pod, ...]
) -> None:
    cluster.down = {"first"}
    assert until(lambda: not pods[0].service.up, *pods) <= lease.LEASE - elected.TELL + 0.5
    assert pods[0].service.killed == 0


def test_a_renewal_that_somebody_elses_change_of_the_object_refuses_is_repeated(
    cluster: Cluster, pods: tuple[Pod, ...]
) -> None:
    """As when Helm writes labels at that moment: nobody else holds the Lease."""
    changes = 5

    def change() -> None:
        nonlocal changes
        if changes:
            changes -= 1
            cluster.version += 1

    cluster.before_patch = change
    pass_time(30, *pods)
    assert not changes
    assert [pod.service.starts for pod in pods] == [1, 0, 0]


def test_without_any_api_nobody_runs_the_service_and_one_does_when_it_is_back(
    cluster: Cluster, pods: tuple[Pod, ...]
) -> None:
    cluster.down = {"first", "second", "third"}
    pass_time(60, *pods)
    assert not any(pod.service.up for pod in pods)
    cluster.down = set()
    pass_time(15, *pods)
    assert sum(pod.service.up for pod in pods) == 1


def test_a_short_silence_of_the_api_moves_nothing(cluster: Cluster, pods: tuple[Pod, ...]) -> None:
    for _ in range(10):
        cluster.down = {"first"}
        pass_time(3, *pods)
        cluster.down = set()
        pass_time(4, *pods)
    assert [pod.service.starts for pod in pods] == [1, 0, 0]


@pytest.mark.parametrize("taken_over", [True, False], ids=["another has it", "nobody took it"])
def test_a_frozen_copy_kills_its_service_as_soon_as_it_goes_on(
    cluster: Cluster, pods: tuple[Pod, ...], taken_over: bool
) -> None:
    """Also if the question comes before the guard, and the Lease is still, or again, this copy's."""
    first, *others = pods
    first.frozen, first.service.stubborn = True, True
    if taken_over:
        cluster.now += 0.1
        while not any(pod.service.up for pod in others):
            for pod in others:
                pod.step()
            cluster.now += 0.1
    else:
        cluster.now += 60
    first.frozen, first.next = False, 0.0
    first.step()
    assert not first.service.up
    assert first.service.killed == 1
    pass_time(30, *pods)
    assert sum(pod.service.up for pod in pods) == 1


def test_a_copy_frozen_between_its_look_and_its_claim_takes_nothing(cluster: Cluster, pods: tuple[Pod, ...]) -> None:
    """It saw a Lease that was free, and another copy took it before the claim arrived."""
    _, second, third = pods
    late = 0.0

    def freeze() -> None:
        nonlocal late
        if not late:
            late = 30.0
            cluster.now += late
            assert third.lease.take() is not None

    cluster.now += lease.LEASE + 1  # the first is dead
    cluster.before_patch = freeze
    second.next = 0.0
    second.step()
    assert late
    assert not second.service.up
    assert cluster.spec["holderIdentity"] == "third"


def test_a_claim_whose_answer_comes_late_starts_nothing(cluster: Cluster) -> None:
    """Stored at once, heard of after the Lease has ended: others count from when it was stored."""
    pod = Pod(cluster, "only")

    def slow() -> None:
        cluster.now += lease.LEASE

    cluster.before_patch = slow
    pod.step()
    assert cluster.spec["holderIdentity"] == "only"
    assert pod.service.starts == 0


def test_a_renewal_that_was_stored_and_not_answered_is_still_ours(cluster: Cluster, pods: tuple[Pod, ...]) -> None:
    cluster.version += 1  # so it looks to the holder
    pass_time(30, *pods)
    assert [pod.service.starts for pod in pods] == [1, 0, 0]


def test_clocks_of_hosts_are_not_compared(cluster: Cluster, pods: tuple[Pod, ...]) -> None:
    """The holder's clock is a year behind, and another's time zone is wrong: only changes that are seen count."""
    for _ in range(30):
        cluster.spec["renewTime"] = "2019-01-01T00:00:00.000000Z"
        pass_time(1, *pods)
    assert [pod.service.starts for pod in pods] == [1, 0, 0]


def test_a_copy_that_is_told_to_end_gives_the_lease_up_after_its_service_and_another_follows_at_once(
    pods: tuple[Pod, ...],
) -> None:
    first, *others = pods
    first.service.stubborn = True  # it takes its time
    first.elector.leaving = True
    pass_time(12, *pods)
    assert first.service.up, "renewed while the service ends"
    first.service.up = False
    taken = until(lambda: any(pod.service.up for pod in others), *pods)
    assert first.status == 0
    assert first.service.killed == 0
    assert taken <= elected.LOOK + 0.3


def test_a_service_that_does_not_end_is_killed_in_time_for_the_lease_to_be_given_up(pods: tuple[Pod, ...]) -> None:
    first = pods[0]
    first.service.stubborn = True
    first.elector.leaving = True
    assert until(lambda: first.status is not None, *pods) <= 25.5
    assert first.service.killed == 1


def test_a_waiting_copy_that_is_told_to_end_does_so_and_changes_nothing(pods: tuple[Pod, ...]) -> None:
    first, second, _ = pods
    second.elector.leaving = True
    pass_time(1, *pods)
    assert second.status == 0
    assert first.service.up


def test_a_service_that_ends_by_itself_ends_its_pod_with_its_status_and_moves(pods: tuple[Pod, ...]) -> None:
    """So Kubernetes counts, backs off and shows it, as without all this."""
    first, *others = pods
    first.service.up, first.service.status = False, 3
    until(lambda: any(pod.service.up for pod in others), *pods)
    assert first.status == 3


def test_what_an_orphan_of_a_probe_leaves_does_not_end_the_next_service(cluster: Cluster) -> None:
    pod = Pod(cluster, "only")
    pod.service.up = True
    pod.elector.guard()
    assert not pod.service.up
    pass_time(5, pod)
    assert pod.service.starts == 1
    assert pod.service.up


def test_an_answer_that_is_no_lease_is_no_end(cluster: Cluster, pods: tuple[Pod, ...]) -> None:
    first = pods[0]
    forbidden = urllib.error.HTTPError("", 403, "Forbidden", None, None)  # type: ignore[arg-type]  # no headers are read
    for error in (ValueError("no JSON"), KeyError("metadata"), forbidden):

        def fails(error: Exception = error) -> None:
            raise error

        cluster.before_patch = fails
        first.next = 0.0
        first.step()
        assert first.service.up


@pytest.mark.parametrize("hangs", [True, False])
def test_a_copy_whose_question_hangs_gives_no_sign_of_life(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cluster: Cluster, hangs: bool
) -> None:
    monkeypatch.setattr(elected, "ALIVE", tmp_path / "alive")
    monkeypatch.setattr(elected, "RUNNING", tmp_path / "running")
    monkeypatch.setattr(elected, "uptime", cluster.clock)
    pod = Pod(cluster, "only")
    cluster.now += elected.HUNG + 1 if hangs else 1
    pod.elector.leaving = True
    assert elected.watch(pod.elector) == 0
    assert (tmp_path / "alive").exists() is not hangs


def test_numbers_leave_time_to_kill_before_another_can_take_the_lease() -> None:
    tries = (lease.LEASE - elected.TELL - elected.RENEW) / (elected.PATIENCE + elected.RETRY)
    assert tries > 2, "one lost answer moves nothing"
    assert 0 < elected.KILL < elected.TELL < lease.LEASE - elected.RENEW
