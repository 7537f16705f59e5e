"""What a Galera member that starts decides: alone, beside others, and by an operator's consent."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from .galera import NOTHING, OTHER, UUID, ConfigMaps, held, pod, shared, start, states


class Ends(Exception):  # noqa: N818 - it is no error
    """The test has seen enough."""


def decided(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    api: ConfigMaps,
    *,
    holds: Any,
    members: int = 3,
    others: tuple[str, ...] = (),
) -> Any:
    """Return what member 1, or 0 of one, decides beside ``others``; what it says last when it decides nothing."""
    pauses = iter(range(3))

    def sleep(_seconds: float) -> None:
        if next(pauses, None) is None:
            raise Ends

    monkeypatch.setattr(start.time, "sleep", sleep)
    monkeypatch.setattr(start, "running_others", lambda **_: others)
    monkeypatch.setattr(start, "WAITING", tmp_path / "waiting")
    env = {"MEMBERS": str(members), "POD_NAME": pod(1 if members > 1 else 0), "POD_IP": "10.0.0.2", "DISCOVERY": "d"}
    env |= {"WSREP_PORT": "4567", "NAMESPACE": "n", "STATE_CONFIGMAP": "s", "CLAIM": "mysql-data", "NODE": "control-1"}
    try:
        return start.decide(env, holds, shared.SharedObject(api, collection="/c", name="n"))
    except Ends:
        return (tmp_path / "waiting").read_text().rstrip()


def outage(*, ends: float = states.CONSENT) -> dict[str, str]:
    until = start.time.strftime("%Y-%m-%dT%H:%M:%SZ", start.time.gmtime(start.time.time() + ends))
    return {"outage": "00c0ffee", "outage-until": until, "cluster": UUID}


def test_whom_an_operator_chose_forms_a_new_cluster_since_others_may_hold_more(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Under the old id a member that is ahead would keep transactions the new cluster does not have."""
    api = ConfigMaps(annotations={states.FORM_FROM: f"{pod(1)}:00c0ffee"}, **outage())
    formed = decided(monkeypatch, tmp_path, api, holds=held(5))
    assert formed.history.seqno == 0
    assert formed.history.uuid not in (UUID, states.NO_CLUSTER)
    assert api.says == {"cluster": formed.history.uuid, "formed-by": pod(1)}
    assert api.annotations == {states.FORM_FROM: None, states.NEW_DATABASE: None}


@pytest.mark.parametrize("ends", [0.0, states.CONSENT])
def test_a_consent_that_is_over_forms_nothing_and_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], ends: float
) -> None:
    word = "00c0ffee" if ends == 0.0 else "00decade"
    api = ConfigMaps(annotations={states.FORM_FROM: f"{pod(1)}:{word}"}, **outage(ends=ends))
    assert "waiting for word of mariadb-server-0, mariadb-server-2" in decided(
        monkeypatch, tmp_path, api, holds=held(5)
    )
    assert f"ignored, since it does not name the outage {api.content['outage']}: " in capsys.readouterr().out
    assert api.content["outage"] != word


def test_a_single_member_goes_on_with_its_own_history_and_restores_a_lost_state(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    api = ConfigMaps()
    assert decided(monkeypatch, tmp_path, api, holds=held(5), members=1) == start.Form(held(5))
    assert api.says == {"cluster": UUID, "formed-by": pod(0)}


def test_a_member_that_joins_restores_a_lost_state_and_waits_for_no_api(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Else an outage in which all volumes are lost would end in a new database without a word."""
    joined, api = start.Join(("10.0.0.1",)), ConfigMaps()
    for holds, says in ((NOTHING, {}), (held(5), {"cluster": UUID}), (held(5, OTHER), {"cluster": UUID})):
        assert decided(monkeypatch, tmp_path, api, holds=holds, others=joined.addresses) == joined
        assert api.says == says
    api.down = True
    assert decided(monkeypatch, tmp_path, api, holds=held(5), others=joined.addresses) == joined


def test_a_single_member_with_data_starts_without_the_api(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    api = ConfigMaps()
    api.down = True
    assert decided(monkeypatch, tmp_path, api, holds=held(5), members=1) == start.Form(held(5))
    assert "no route to host" in decided(monkeypatch, tmp_path, api, holds=NOTHING, members=1)


def test_a_single_member_that_lost_its_volume_names_volume_node_and_consent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    api = ConfigMaps(cluster=UUID)
    said = decided(monkeypatch, tmp_path, api, holds=NOTHING, members=1)
    assert said == (
        f"refused: no member holds a database, and cluster {UUID} was formed here; "
        "here: volume claim mysql-data on node control-1, which holds nothing"
    )
    word = api.content["outage"]
    assert f"annotate --overwrite configmap s {states.NEW_DATABASE}={word}\n" in capsys.readouterr().out
    api.annotations[states.NEW_DATABASE] = word
    formed = decided(monkeypatch, tmp_path, api, holds=NOTHING, members=1)
    assert formed.history.seqno == 0
    assert api.says["cluster"] == UUID, "the consent lasts until the new database is made"


def together(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, api: ConfigMaps, positions: list[Any]) -> list[Any]:
    """Return what members that start at the same time decide; whoever forms the cluster records it and then runs."""
    running: list[str] = []
    monkeypatch.setattr(start, "PAUSE", 0.001)
    monkeypatch.setattr(start, "running_others", lambda **_: tuple(running))
    monkeypatch.setattr(start, "WAITING", tmp_path / "waiting")
    state = shared.SharedObject(api, collection="/c", name="n")

    def member(number: int) -> Any:
        env = {"MEMBERS": str(len(positions)), "POD_NAME": pod(number), "POD_IP": f"10.0.0.{number}", "DISCOVERY": "d"}
        env |= {"WSREP_PORT": "4567", "NAMESPACE": "n", "STATE_CONFIGMAP": "s", "CLAIM": "mysql-data", "NODE": "c"}
        decision = start.decide(env, positions[number], state)
        if isinstance(decision, start.Form):
            start._record(pod(number), decision.history, state)
            running.append(env["POD_IP"])
        return decision

    with ThreadPoolExecutor(len(positions)) as pool:
        return list(pool.map(member, range(len(positions)), timeout=60))


def formed_in(api: ConfigMaps) -> dict[str, str]:
    """Return what was formed. A member that looks between the record and the first answer names an outage; it ends."""
    return {name: api.says[name] for name in ("cluster", "formed-by")}


def test_members_that_start_at_once_agree_on_the_newest(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    api = ConfigMaps(cluster=UUID)
    decisions = together(monkeypatch, tmp_path, api, [held(5), NOTHING, held(9)])
    assert decisions == [start.Join(("10.0.0.2",)), start.Join(("10.0.0.2",)), start.Form(held(9))]
    assert formed_in(api) == {"cluster": UUID, "formed-by": pod(2)}


def test_members_that_start_at_once_make_one_new_database_and_by_consent_another(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    api = ConfigMaps()
    formed, *others = together(monkeypatch, tmp_path, api, [NOTHING] * 3)
    assert others == [start.Join(("10.0.0.0",))] * 2
    assert formed_in(api) == {"cluster": formed.history.uuid, "formed-by": pod(0)}
    api.content |= outage() | {"cluster": formed.history.uuid}
    api.annotations[states.NEW_DATABASE] = "00c0ffee"
    again, *_ = together(monkeypatch, tmp_path, api, [NOTHING] * 3)
    assert formed_in(api) == {"cluster": again.history.uuid, "formed-by": pod(0)}
    assert again.history.uuid != formed.history.uuid
