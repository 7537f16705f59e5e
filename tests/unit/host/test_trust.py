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


def test_each_of_two_cas_of_the_site_has_its_own_file(
    changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenSSL makes no link by hash for a file of two: programs that look there would trust neither."""
    for name in ("BUNDLE", "LINKS", "OURS"):
        monkeypatch.setattr(trust, name, tmp_path / name)
    (tmp_path / "OURS").mkdir()
    monkeypatch.setattr(trust, "run", lambda _: None)
    one, two = (f"-----BEGIN CERTIFICATE-----\n{word}\n-----END CERTIFICATE-----" for word in ("one", "two"))
    trust.authorities(changes, f"{one}\n{two}\n", [], site="lab")
    assert sorted(path.read_text() for path in (tmp_path / "OURS").iterdir()) == [f"{one}\n", f"{two}\n"]
    assert (tmp_path / "OURS/groundup-lab.crt").read_text() == f"{one}\n"
    (tmp_path / "BUNDLE").write_text(f"{two}\nDebian's\n{one}\n")
    assert trust.trusted(f"{one}\n{two}")
    (tmp_path / "BUNDLE").write_text(f"{two}\n")
    assert not trust.trusted(f"{one}\n{two}")


def test_a_ca_of_a_company_is_trusted_until_the_site_names_it_no_more(
    changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle, links, ours = tmp_path / "bundle", tmp_path / "links", tmp_path / "ours"
    for name, path in (("BUNDLE", bundle), ("LINKS", links), ("OURS", ours)):
        monkeypatch.setattr(trust, name, path)
    for path in (links, ours):
        path.mkdir()
    calls: list[Any] = []

    def update(argv: list[str]) -> None:  # as Debian's: links to what is gone stay
        calls.append(argv)
        bundle.write_text("".join(path.read_text() for path in sorted(ours.iterdir())))
        for path in ours.iterdir():
            link = links / f"{path.stem}.pem"
            if not link.is_symlink():
                link.symlink_to(path)
                (links / f"{len(list(links.iterdir()))}.0").symlink_to(link.name)

    monkeypatch.setattr(trust, "run", update)
    (ours / "operator.crt").write_text("OPERATOR\n")
    (links / "dangling.pem").symlink_to("/nowhere")
    for _ in range(2):
        trust.authorities(changes, "OWN", ["ONE\n", "TWO\n"], site="lab")
    assert len(calls) == 1
    assert all(map(trust.trusted, ("OWN", "ONE", "TWO")))
    for _ in range(2):
        trust.authorities(changes, "OWN", ["TWO\n"], site="lab")
    assert len(calls) == 2
    assert [one for one in ("OWN", "ONE", "TWO", "OPERATOR") if trust.trusted(one)] == ["OWN", "TWO", "OPERATOR"]
    assert [path.name for path in links.iterdir() if not path.exists()] == ["dangling.pem"], "an operator's own stays"


def test_a_removal_that_was_killed_before_the_rebuild_is_finished(
    changes: Changes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LINKS", "OURS"):
        (tmp_path / name).mkdir()
        monkeypatch.setattr(trust, name, tmp_path / name)
    monkeypatch.setattr(trust, "BUNDLE", tmp_path / "bundle")
    (tmp_path / "bundle").write_text("OWN\nGONE\n")
    (tmp_path / "OURS/groundup-lab.crt").write_text("OWN\n")
    (tmp_path / "LINKS/groundup-lab.pem").symlink_to(tmp_path / "OURS/groundup-lab.crt")
    (tmp_path / "LINKS/groundup-lab-123.pem").symlink_to(tmp_path / "OURS/groundup-lab-123.crt")
    monkeypatch.setattr(trust, "run", lambda _: (tmp_path / "bundle").write_text("OWN\n"))
    trust.authorities(changes, "OWN", [], site="lab")
    assert changes.done == ["rebuild the trust store"]
    assert not trust.trusted("GONE")
