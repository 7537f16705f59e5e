"""Which Galera member may form the cluster, and which consents count."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from .galera import NOTHING, OTHER, UUID, held, pod, states

election = sys.modules["galera_election"]
FRESH, FORMED = states.State(), states.State(cluster=UUID)


def elect(*positions: Any, members: int | None = None, state: Any = FRESH) -> Any:
    """Return who forms the cluster when members 0, 1, ... wait with these positions."""
    waiting = {pod(number): position for number, position in enumerate(positions)}
    return election.elect(waiting, members=members or len(positions), state=state)


def test_a_new_cluster_is_formed_by_the_first_member_alone() -> None:
    assert elect(NOTHING, NOTHING, NOTHING) == pod(0)


def test_nobody_forms_a_cluster_while_a_member_has_not_been_heard() -> None:
    assert elect(held(5), held(9), members=3) is None


@pytest.mark.parametrize("state", [FRESH, FORMED])
def test_the_member_with_the_newest_transaction_forms_the_cluster(state: Any) -> None:
    assert elect(held(5), held(9), held(7), state=state) == pod(1)


def test_among_equals_the_lowest_ordinal_forms_the_cluster() -> None:
    assert election.elect({pod(n): held(9) for n in (10, 2, 3)}, members=3, state=FRESH) == pod(2)


@pytest.mark.parametrize("state", [FRESH, FORMED])
def test_a_member_that_lost_its_volume_never_forms_the_cluster_over_one_that_has_data(state: Any) -> None:
    assert elect(NOTHING, held(0), held(-1), state=state) == pod(1)
    assert elect(NOTHING, held(-1), state=state) == pod(1)
    assert elect(NOTHING, states.UNKNOWN, state=state) == pod(1), "a restored copy has no history of Galera's"


@pytest.mark.parametrize("members", [1, 3])
def test_no_new_database_is_made_where_one_was_formed_but_by_consent(members: int) -> None:
    with pytest.raises(election.RefusedError, match=UUID) as refused:
        elect(*[NOTHING] * members, state=FORMED)
    assert refused.value.consent == states.NEW_DATABASE
    assert elect(*[NOTHING] * members, state=replace(FORMED, new_database=True)) == pod(0)


def test_consent_to_a_new_database_makes_none_while_a_member_holds_the_old_one_or_is_away() -> None:
    consented = replace(FORMED, new_database=True)
    assert elect(NOTHING, held(3), NOTHING, state=consented) == pod(1)
    assert elect(NOTHING, NOTHING, members=3, state=consented) is None


def test_data_of_two_clusters_is_refused_with_both_names_unless_one_of_them_was_formed_here() -> None:
    with pytest.raises(election.RefusedError, match=f"{OTHER}, {UUID}"):
        elect(held(5), held(5, OTHER))
    assert elect(held(9, OTHER), held(5), state=FORMED) == pod(1), "the other was written off by an earlier consent"


@pytest.mark.parametrize("members", [1, 3])
def test_data_of_another_cluster_are_not_taken_for_those_of_this_site(members: int) -> None:
    with pytest.raises(election.RefusedError, match=f"{OTHER}.*{UUID}") as refused:
        elect(*[held(5, OTHER)] * members, state=FORMED)
    assert refused.value.consent == states.FORM_FROM


def test_a_consent_to_form_from_a_member_settles_it_as_soon_as_that_member_waits() -> None:
    assert elect(held(5), held(5, OTHER), members=3, state=states.State(form_from=pod(1))) == pod(1)
    assert elect(held(5), held(5, OTHER), members=3, state=states.State(form_from=pod(2))) is None


def test_a_consent_to_form_from_a_member_without_data_is_refused() -> None:
    with pytest.raises(election.RefusedError, match=f"{pod(1)} holds no database"):
        elect(held(5), NOTHING, members=3, state=replace(FORMED, form_from=pod(1)))


@given(st.lists(st.integers(-1, 5), min_size=3, max_size=3))
def test_whoever_is_chosen_nobody_holds_more(seqnos: list[int]) -> None:
    chosen = elect(*map(held, seqnos))
    assert seqnos[election.ordinal(chosen)] == max(seqnos)


NOW = 1_800_000_000.0


def waiting(*, outage: float = NOW, **annotations: str) -> dict[str, Any]:
    """Return a ConfigMap in which the outage 00c0ffee began at ``outage``."""
    patch = states.waits(FRESH, pod(0), held(5), beat=1, now=outage)
    names = {"form_from": states.FORM_FROM, "new_database": states.NEW_DATABASE}
    notes = {names[key]: value for key, value in annotations.items()}
    return {"metadata": {"annotations": notes}, "data": patch["data"] | {"outage": "00c0ffee"}}


def test_a_consent_that_names_the_outage_counts() -> None:
    chosen = states.parse(waiting(form_from=f"{pod(1)}:00c0ffee"), now=NOW + 60)
    assert (chosen.form_from, chosen.new_database, chosen.ignored) == (pod(1), False, ())
    assert states.parse(waiting(new_database="00c0ffee"), now=NOW + 60).new_database


@pytest.mark.parametrize("value", [pod(1), f"{pod(1)}:", f"{pod(1)}:00decade"])
def test_a_consent_of_another_outage_is_ignored_and_named(value: str) -> None:
    found = states.parse(waiting(form_from=value, new_database="00decade"), now=NOW + 60)
    assert (found.form_from, found.new_database) == (None, False)
    assert found.ignored == (f"{states.FORM_FROM}={value}", f"{states.NEW_DATABASE}=00decade")


def test_a_consent_ends_after_half_an_hour_and_the_outage_has_another_name_then() -> None:
    found = states.parse(waiting(form_from=f"{pod(1)}:00c0ffee"), now=NOW + states.CONSENT)
    assert (found.form_from, found.outage, len(found.ignored)) == (None, "", 1)
    renewed = states.waits(found, pod(0), held(5), beat=2, now=NOW + states.CONSENT)["data"]["outage"]
    assert renewed not in ("", "00c0ffee")


def test_without_an_outage_nobody_has_consented() -> None:
    assert states.parse({"metadata": {"annotations": {states.NEW_DATABASE: "", states.FORM_FROM: "a:"}}}, now=NOW) == (
        states.State(ignored=(f"{states.FORM_FROM}=a:", f"{states.NEW_DATABASE}="))
    )


def test_a_report_seen_once_proves_nothing_and_one_that_stands_still_counts_as_away() -> None:
    beats = election.Beats()
    report = {"uuid": UUID, "seqno": 5, "beat": 1}
    assert beats.waiting({pod(1): report}, now=0.0) == {}
    assert beats.waiting({pod(1): {**report, "beat": 2}}, now=2.0) == {pod(1): held(5)}
    assert beats.waiting({pod(1): {**report, "beat": 2}}, now=16.0) == {pod(1): held(5)}
    assert beats.waiting({pod(1): {**report, "beat": 2}}, now=18.0) == {}
