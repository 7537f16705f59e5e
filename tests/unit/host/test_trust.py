"""Trust store of a host, on a file tree that stands for one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.module_utils._host import (
    trust,
)


def test_a_trust_store_a_killed_run_left_old_is_made_anew(
    changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle, links, ours = tmp_path / "bundle", tmp_path / "links", tmp_path / "ours"
    links.mkdir()
    ours.mkdir()
    for name, path in (("BUNDLE", bundle), ("LINKS", links), ("OURS", ours)):
        monkeypatch.setattr(trust, name, path)
    calls: list[Any] = []

    def update(argv: list[str]) -> None:
        calls.append(argv)
        bundle.write_text((ours / "groundup-lab.crt").read_text())
        (links / "groundup-lab.pem").touch()

    (ours / "groundup-lab.crt").write_text("CERTIFICATE\n")
    monkeypatch.setattr(trust, "run", update)
    trust.authorities(changes, "CERTIFICATE", [], site="lab")
    trust.authorities(changes, "CERTIFICATE", [], site="lab")
    assert calls == [["update-ca-certificates"]]
    assert changes.done == ["rebuild the trust store"]


def test_a_ca_that_the_first_boot_trusted_is_trusted_under_the_site_s_name_alone(
    changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("BUNDLE", "LINKS", "OURS"):
        monkeypatch.setattr(trust, name, tmp_path / name)
    (tmp_path / "OURS").mkdir()
    for name in ("groundup-site.crt", "operator.crt"):
        (tmp_path / "OURS" / name).write_text("OLD\n")
    monkeypatch.setattr(trust, "run", lambda _: None)
    trust.authorities(changes, "CERTIFICATE", [], site="lab")
    assert {path.name for path in (tmp_path / "OURS").iterdir()} == {"groundup-lab.crt", "operator.crt"}
    assert "rebuild the trust store" in changes.done
