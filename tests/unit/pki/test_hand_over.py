"""A new certificate takes the old one's place with its key: both, or neither, whenever the run is killed."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base import files
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils import site_certificate
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store
from ansible_collections.groundup.cloud.tests.unit.certificates import Issued, issue
from ansible_collections.groundup.cloud.tests.unit.pki.test_own import LEAF, NEXT, ROOT, Site, create, site
from cryptography.hazmat.primitives import serialization

__all__ = ["site"]


def hand(path: Path, tmp_path: Path, one: Issued, key: Issued, *, check: bool = False) -> Changes:
    (tmp_path / "new.pem").write_text(one.pem)
    (tmp_path / "new.key").write_text(key.key)
    changes = Changes(check=check)
    names = {"certificate_file": str(tmp_path / "new.pem"), "key_file": str(tmp_path / "new.key")}
    site_certificate.hand_over(changes, str(path), **names)
    return changes


def test_a_pair_is_handed_over_as_a_whole_or_not_at_all(site: Site, tmp_path: Path) -> None:
    path = site()
    create(path, edge_key=LEAF.key)
    old = issue("old", ROOT, names=["*.lab.test"], begins=-99, days=-1)
    small = issue("small", ROOT, names=["other.lab.test"])
    for one, key, said in ((NEXT, LEAF, "does not belong"), (old, old, "ended 1 days ago"), (small, small, "not for")):
        with pytest.raises(GroundupError, match=said):
            hand(path, tmp_path, one, key)
    assert (path.parent / "public.pem").read_text() == LEAF.pem
    assert len(hand(path, tmp_path, NEXT, NEXT, check=True).done) == 2
    assert (path.parent / "public.pem").read_text() == LEAF.pem, "a prediction"
    assert len(hand(path, tmp_path, NEXT, NEXT).done) == 2
    assert (path.parent / "public.pem").read_text() == NEXT.pem
    assert not create(path)["changed"]
    assert hand(path, tmp_path, NEXT, NEXT).done == []


@pytest.mark.parametrize("written", [False, True])
def test_a_run_killed_while_it_takes_a_pair_leaves_one_that_fits(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: bool
) -> None:
    path = site()
    create(path, edge_key=LEAF.key)
    place = files.place

    def killed(changes: Changes, where: Path, text: str) -> None:
        if written:
            place(changes, where, text)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(files, "place", killed)
        with pytest.raises(KeyboardInterrupt):
            hand(path, tmp_path, NEXT, NEXT)
    create(path)
    kept = open_store("lab").items()
    assert (path.parent / "public.pem").read_text() == (NEXT if written else LEAF).pem
    assert kept["edge/key"] == (NEXT if written else LEAF).key.strip()
    assert "edge/next-key" not in kept
    assert not create(path)["changed"]
    hand(path, tmp_path, NEXT, NEXT)
    assert open_store("lab").get("edge/key") == NEXT.key.strip()


def test_a_pair_takes_the_place_of_one_that_has_ended(site: Site, tmp_path: Path) -> None:
    path = site()
    create(path, edge_key=LEAF.key)
    (path.parent / "public.pem").write_text(issue("old", ROOT, names=["*.lab.test"], begins=-99, days=-1).pem)
    hand(path, tmp_path, NEXT, NEXT)
    assert not create(path)["changed"]


def test_a_link_beside_the_site_file_stays_a_link(site: Site, tmp_path: Path) -> None:
    path = site()
    create(path, edge_key=LEAF.key)
    there = tmp_path / "live.pem"
    (path.parent / "public.pem").rename(there)
    (path.parent / "public.pem").symlink_to(there)
    hand(path, tmp_path, NEXT, NEXT)
    assert (path.parent / "public.pem").is_symlink()
    assert there.read_text() == NEXT.pem


def test_a_site_without_the_field_takes_no_pair(site: Site, tmp_path: Path) -> None:
    with pytest.raises(GroundupError, match=r"write edge\.certificate"):
        hand(site(None), tmp_path, NEXT, NEXT)


def test_a_key_in_der_is_told_and_a_directory_is_no_key(site: Site, tmp_path: Path) -> None:
    path, file = site(), tmp_path / "new.key"
    form = (serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file.write_bytes(LEAF.private.private_bytes(*form))
    with pytest.raises(GroundupError, match="the key is not text"):
        site_certificate.hand_over(Changes(check=False), str(path), certificate_file=None, key_file=str(file))
    with pytest.raises(IsADirectoryError):
        site_certificate.hand_over(Changes(check=False), str(path), certificate_file=None, key_file=str(tmp_path))
    with pytest.raises(GroundupError, match="certificate-file-unreadable"):
        site_certificate.hand_over(Changes(check=False), str(path), certificate_file=str(tmp_path),
                                   key_file=str(site_key(tmp_path)))  # fmt: skip


def site_key(directory: Path) -> Path:
    (directory / "good.key").write_text(LEAF.key)
    return directory / "good.key"
