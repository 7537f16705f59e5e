"""The object gateway of a storage host: what it runs by, when it restarts, and what is said of one that is silent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._ceph import gateway
from ansible_collections.groundup.cloud.plugins.module_utils._ceph.gateway import Gateway
from ansible_collections.groundup.cloud.plugins.module_utils._host import units

from .host import GATEWAY, MONITORS, Host, plan

SECRETS = ("key of rgw", "a password", "of nobody else")
START, RESTART = (f"{verb} {gateway.UNIT}" for verb in ("start", "restart"))


def off(changes: Changes, names: Sequence[str]) -> None:
    """Stop units, as systemd would."""
    for name in names:
        changes.add(f"stop and disable {name}")


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    made, home = Host(), tmp_path / "radosgw"
    monkeypatch.setattr(gateway, "CONF", tmp_path / "rgw.conf")
    monkeypatch.setattr(gateway, "HOME", home)
    monkeypatch.setattr(units, "off", off)
    monkeypatch.setattr(gateway, "DROP_IN", tmp_path / "unit.d/groundup.conf")
    for name, file in {"_KEYRING": "keyring", "_PASSWORD": "password", "_CERTIFICATE": "crt", "_KEY": "key"}.items():
        monkeypatch.setattr(gateway, name, home / file)
    monkeypatch.setattr(gateway, "check_pair", lambda *_, **__: None)
    monkeypatch.setattr(gateway, "_group", lambda: None)
    monkeypatch.setattr(gateway, "_silent", lambda _: "")
    monkeypatch.setattr(units, "MARKS", tmp_path / "marks")
    for name in ("run", "properties", "control"):
        monkeypatch.setattr(units, name, getattr(made, name))
    return made


def own(**settings: str) -> Gateway:
    ceph = plan(gateway=GATEWAY | {"settings": settings})
    assert ceph.gateway
    return Gateway(
        name="storage-1", address="10.0.0.1", ceph=ceph, plan=ceph.gateway,
        key=SECRETS[0], password=SECRETS[1], ca_certificate="the site's", certificate="public",
        private_key=SECRETS[2],
    )  # fmt: skip


def converge(of: Gateway, *, restart: bool = False, check: bool = False) -> dict[str, Any]:
    return gateway.converge(of, Changes(check=check), restart=restart)


def test_the_first_run_writes_what_it_runs_by_and_starts_it_and_the_next_changes_nothing(host: Host) -> None:
    assert converge(own())["changed"]
    assert host.verbs == [START]
    said = converge(own())
    assert (said["changed"], said["due"], host.verbs) == (False, False, [START])


def test_its_configuration_has_tls_alone_and_no_secret(host: Host) -> None:
    converge(own(rgw_keystone_url="https://identity.lab.test"))
    text = gateway.CONF.read_text()
    assert "rgw_frontends = beast ssl_endpoint=10.0.0.1:8088 " in text
    assert "rgw_keystone_url = https://identity.lab.test\n" in text
    assert f"mon_host = {','.join(MONITORS.values())}\n" in text
    assert not [word for word in SECRETS if word in text + gateway.DROP_IN.read_text()]
    assert not host.failed


def test_a_new_configuration_waits_for_the_hosts_turn(host: Host) -> None:
    converge(own())
    assert converge(own(rgw_max_concurrent_requests="64"))["due"]
    assert host.verbs == [START], "all gateways would be away at once"
    assert not converge(own(rgw_max_concurrent_requests="64"), restart=True)["due"]
    assert host.verbs == [START, RESTART]


def test_a_run_killed_before_the_restart_leaves_it_to_the_next(host: Host) -> None:
    converge(own())
    converge(own(rgw_max_concurrent_requests="64"))
    assert converge(own(rgw_max_concurrent_requests="64"))["due"], "nothing differs any more, and it runs by the old"
    assert host.verbs == [START]


def test_a_dry_run_writes_nothing(host: Host) -> None:
    said = converge(own(), check=True)
    assert f"start {gateway.UNIT}" in said["changes"]
    assert not gateway.CONF.exists()
    assert not host.verbs


def test_one_that_is_silent_is_named_with_what_clients_see(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway, "_silent", lambda _: "connection refused")
    monkeypatch.setattr(gateway, "_PATIENCE", 0.0)
    with pytest.raises(GroundupError, match="does not answer: connection refused") as raised:
        converge(own())
    assert "host storage-1" in raised.value.where
    assert "503" in raised.value.why
    assert host.verbs == [START]


def test_one_that_left_the_site_file_is_stopped_without_its_keys_and_another_s_is_left_alone(host: Host) -> None:
    def leave(*, check: bool = False) -> list[str]:
        changes = Changes(check=check)
        gateway.leave(changes)
        return changes.done

    assert leave() == [], "there never was one"
    converge(own())
    home, conf, drop_in = gateway.HOME, gateway.CONF, gateway.DROP_IN
    said = [f"stop and disable {gateway.UNIT}", *(f"remove {path}" for path in (drop_in, home, conf))]
    assert leave(check=True) == said
    assert home.exists()
    assert leave() == said, "by its configuration, which goes last, a killed run goes on"
    assert not [path for path in (drop_in, home, conf) if path.exists()]
    conf.write_text("[client.rgw.rgw]\n")
    assert leave() == []
    assert host.verbs == [START]
