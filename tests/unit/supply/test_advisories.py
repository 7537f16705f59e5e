"""What advisories say of what is installed: by Debian's tracker and OSV's records, and what cannot be said."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply import __main__ as command
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.advisories import debian, osv
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.advisories.match import Match
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.advisories.parts import Part, host_parts, parts
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.advisories.report import report
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import Lock
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.sbom import Component

from .conftest import FakeBuilder

LISTING = (
    "installed\tlibssl3t64\t3.5.1-1+b2\tamd64\topenssl\t3.5.1-1\n"
    "installed\tlinux-image-amd64\t6.12.41-1\tamd64\tlinux-signed-amd64\t6.12.41+1\n"
    "config-files\told\t1\tall\told\t1\n"
    "installed\tovn-host\t25.03.0-1\tamd64\tovn\t25.03.0-1\n"
)


def on_host(packages: str = LISTING, release: str = "trixie") -> list[Part]:
    return list(host_parts([{"name": "control-1", "release": release, "packages": packages}]))


def state(status: str, fixed: str | None = None, urgency: str = "not yet assigned") -> dict[str, Any]:
    """One release of one CVE, with the tracker's other keys."""
    found = {"status": status, "repositories": {"trixie": "3.5.1-1"}, "urgency": urgency}
    return {"releases": {"trixie": found | ({"fixed_version": fixed} if fixed else {})}, "scope": "local"}


@pytest.mark.parametrize(
    ("issue", "fixed"),
    [
        (state("resolved", "3.5.1-1+deb13u1"), "3.5.1-1+deb13u1"),
        (state("resolved", "3.5.1-1"), None),  # the binary's +b2 is a rebuild
        (state("resolved", "3.5.1~rc1-1"), None),  # ~ sorts before
        (state("resolved", "1:1.0-1"), "1:1.0-1"),  # an epoch sorts after
        (state("resolved", "3.5.10-1"), "3.5.10-1"),  # numbers, not text
        (state("resolved", "0"), None),  # never was in this release
        (state("open"), ""),
        (state("open", urgency="unimportant"), None),
        (state("resolved", "9", urgency="unimportant"), None),
    ],
)
def test_debians_tracker_by_dpkgs_order_of_source_versions(issue: dict[str, Any], fixed: str | None) -> None:
    found = list(debian.matches(on_host(), {"openssl": {"CVE-2026-0001": issue}}))
    assert [(one.part.package, one.advisory, one.fixed) for one in found if isinstance(one, Match)] == (
        [] if fixed is None else [("libssl3t64", "CVE-2026-0001", fixed)]
    )
    assert len(found) == (fixed is not None)


def test_of_another_release_nothing_is_known() -> None:
    tracker = {"openssl": {"CVE-2026-0001": state("open")}}
    (found,) = debian.matches(on_host(release="forky"), tracker)
    assert not isinstance(found, Match)
    assert (found.holders, "release forky" in found.why) == (("host control-1",), True)
    (found,) = debian.matches(on_host(), {"ovn": {"CVE-2026-0002": state("undetermined")}})
    assert not isinstance(found, Match)


def record(*events: dict[str, str], ecosystem: str = "PyPI", name: str = "oslo.messaging", **further: Any) -> Any:
    """One record, as OSV gives OpenStack's and PyPI's."""
    spans = [{"type": "ECOSYSTEM", "events": list(events)}] if events else []
    affected = {"package": {"ecosystem": ecosystem, "name": name}, "ranges": spans, **further.pop("entry", {})}
    return {"schema_version": "1.6.0", "id": "GHSA-x", "aliases": ["CVE-2026-1"], "affected": [affected], **further}


def python(version: str, name: str = "oslo.messaging") -> list[Part]:
    return list(parts("nova", [Component.of("pypi", name, version)]))


def fixes(installed: Iterable[Part], *records: Any) -> list[str]:
    found = list(osv.matches(installed, records))
    assert all(isinstance(one, Match) for one in found)
    return [one.fixed for one in found if isinstance(one, Match)]


@pytest.mark.parametrize(
    ("version", "events", "fixed"),
    [
        ("17.0.0", [{"introduced": "0"}, {"fixed": "17.1.2"}], ["17.1.2"]),
        ("17.1.2", [{"introduced": "0"}, {"fixed": "17.1.2"}], []),
        ("17.1.2rc1", [{"introduced": "0"}, {"fixed": "17.1.2"}], ["17.1.2"]),
        ("9.0", [{"introduced": "10.0"}, {"fixed": "17.1.2"}], []),
        ("17.0.0", [{"introduced": "0"}, {"fixed": "16.2"}, {"introduced": "17"}, {"fixed": "17.1.2"}], ["17.1.2"]),
        ("16.5", [{"introduced": "17"}, {"fixed": "17.1.2"}, {"introduced": "0"}, {"fixed": "16.2"}], []),
        ("17.0.0", [{"introduced": "0"}, {"last_affected": "17.0"}], [""]),
        ("17.0.1", [{"introduced": "0"}, {"last_affected": "17.0"}], []),
        ("17.0.0", [{"introduced": "0"}], [""]),
        ("17.0.0", [{"introduced": "0"}, {"limit": "16"}], []),
    ],
)
def test_ranges_of_osv_by_the_rules_of_python_versions(
    version: str, events: list[dict[str, str]], fixed: list[str]
) -> None:
    assert fixes(python(version), record(*events)) == fixed


def test_names_are_normal_listed_versions_count_and_withdrawn_records_do_not() -> None:
    open_ended = {"introduced": "0"}
    assert fixes(python("1.0"), record(open_ended, name="Oslo_Messaging")) == [""]
    assert fixes(python("1.0"), record(open_ended, name="oslo.messaging.x")) == []
    assert fixes(python("1.0"), record(entry={"versions": ["1.0.0", "1.1"]})) == [""]
    assert fixes(python("1.2"), record(entry={"versions": ["1.0.0", "1.1"]})) == []
    assert fixes(python("1.0"), record(open_ended, withdrawn="2026-01-01T00:00:00Z")) == []
    (found,) = osv.matches(python("1.0"), [record(open_ended)])
    assert isinstance(found, Match)
    assert found.advisory == "GHSA-x (CVE-2026-1)"


def test_debians_records_of_osv_count_for_their_release_alone() -> None:
    events = ({"introduced": "0"}, {"fixed": "25.03.0-1+deb13u1"})
    assert fixes(on_host(), record(*events, ecosystem="Debian:13", name="ovn")) == ["25.03.0-1+deb13u1"]
    assert fixes(on_host(), record(*events, ecosystem="Debian:12", name="ovn")) == []


def test_what_cannot_be_compared_is_not_called_safe() -> None:
    go = list(parts("etcd", [Component.of("golang", "std", "1.26.8")]))
    semver = record(ecosystem="Go", name="stdlib", entry={"ranges": [{"type": "SEMVER", "events": []}]})
    commits = record(entry={"ranges": [{"type": "GIT", "events": [{"introduced": "0"}]}]})
    for installed, one, why in ((go, semver, "not compared"), (python("1.0"), commits, "commits")):
        (found,) = osv.matches(installed, [one])
        assert not isinstance(found, Match)
        assert why in found.why


@pytest.fixture
def built(fake: FakeBuilder, make_lock: Callable[..., Lock], lines: list[str]) -> Lock:
    """A lock of one artifact with a Debian package, and one with a Python package, both built."""
    del fake
    of = {"a": "pkg:deb/debian/libssl3@3.5.1-1?distro=trixie&upstream=openssl", "b": "pkg:pypi/nova@31.0.0"}
    lock = make_lock(**{name: {"version": "31.0.0", "inputs": {"purl": purl}} for name, purl in of.items()})
    supply.ensure(None, progress=lines.append, lock=lock)
    return lock


@pytest.fixture
def tracker(tmp_path: Path) -> Callable[[Any], Path]:
    def write(content: Any, name: str = "advisories.json") -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write


NOVA = record({"introduced": "0"}, {"fixed": "31.0.1"}, name="nova", id="OSSA-2026-001")
OPENSSL = {"openssl": {"CVE-2026-0001": state("resolved", "32.0-1")}}


def test_artifacts_and_hosts_are_told_together_with_the_release_that_fixes(
    built: Lock, tracker: Callable[..., Path]
) -> None:
    files = [tracker(OPENSSL), tracker([NOVA], "osv/one.json").parent]
    hosts = [{"name": "control-1", "release": "trixie", "packages": LISTING}]
    found = report(built, files, hosts=hosts)
    assert found.code == 1
    assert [(row["advisory"], row["package"], row["fixed"], row["where"]) for row in found.rows()] == [
        ("CVE-2026-0001", "openssl", "32.0-1", ["a", "host control-1"]),
        ("OSSA-2026-001 (CVE-2026-1)", "nova", "31.0.1", ["b"]),
    ]
    text = found.text().splitlines()
    assert text[0].split() == ["ADVISORY", "PACKAGE", "VERSION", "FIXED", "IN", "WHERE"]
    assert text[-1] == "5 packages: 2 affected, 2 of them fixed by a release; 0 not known"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ([NOVA], 1),
        (NOVA, 1),
        ([], 0),
        ({"openssl": {"CVE-1": {"releases": {"trixie": {"status": "undetermined"}}}}}, 2),
        ("{", 2),
        ("[1]", 2),
        ({"openssl": {"CVE-1": {"releases": {"trixie": {"status": "closed"}}}}}, 2),
        ({"openssl": "no"}, 2),
        ([record({"introduced": "0"}, {"fixed": "one"}, name="nova")], 2),
        ([record({"since": "0"}, name="nova")], 2),
    ],
)
def test_the_exit_code_says_affected_not_affected_or_not_known(
    built: Lock, tracker: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, content: Any, code: int
) -> None:
    monkeypatch.setattr(command, "load_lock", lambda: built)
    assert command.main(["advisories", "--from", str(tracker(content))]) == code


def test_a_file_that_is_no_list_is_named_with_the_place_and_the_remedy(
    built: Lock, tracker: Callable[..., Path], tmp_path: Path
) -> None:
    path = tracker({"openssl": {"CVE-1": {"releases": {"trixie": {"status": "closed"}}}}})
    with pytest.raises(GroundupError, match=r"releases\.trixie\.status") as caught:
        report(built, [path], hosts=())
    assert (caught.value.where, "security-tracker" in caught.value.remedy) == (str(path), True)
    (tmp_path / "none").mkdir()
    with pytest.raises(GroundupError, match="no file"):
        report(built, [tmp_path / "none"], hosts=())
    with pytest.raises(GroundupError, match="FileNotFoundError"):
        report(built, [tmp_path / "absent.json"], hosts=())


def test_what_is_not_built_or_has_an_old_bill_is_told(
    built: Lock, make_lock: Callable[..., Lock], tracker: Callable[..., Path]
) -> None:
    more = make_lock(**{
        name: {"version": one.version, "inputs": one.inputs} for name, one in built.artifacts.items()
    }, c={})  # fmt: skip
    found = report(more, [tracker([])], hosts=(), silent=["worker-1"])
    assert [(one.holders, one.why) for one in found.unknown] == [
        (("c",), "artifacts that are not built"),
        (("host worker-1",), "hosts that did not say what is installed"),
    ]
    assert found.code == 2
    (old,) = parts("a", [Component("libssl3", "3", "pkg:deb/debian/libssl3@3?distro=trixie")])
    assert (old.name, old.exact) == ("libssl3", False)
    with pytest.raises(GroundupError, match="nothing to hold"):
        report(more, [tracker([])], names=["c"], hosts=())
