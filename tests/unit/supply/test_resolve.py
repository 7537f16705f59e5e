"""Digests that nobody wrote yet: asked for once, shown, kept for the site, changed by a force flag alone."""

from __future__ import annotations

import base64
import functools
import hashlib
import http.server
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.action.supply import OTHER_DIGEST
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock import recorded
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import Lock
from ansible_collections.groundup.cloud.tests.unit import tls

from .registry import INDEX, MANIFEST, Registry
from .test_action import action
from .test_oci import PROGRAM_IMAGE

pytestmark = pytest.mark.usefixtures("fake")
MakeLock = Callable[..., Lock]
CONTENT = b"a program\n"


def digest_of(content: bytes) -> str:
    """Return the digest of ``content``."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


FILE = digest_of(CONTENT)
LOCKED = f"sha256:{'7' * 64}"


def index(*machines: str) -> bytes:
    """Return a list of images, one a machine."""
    found = [
        {
            "mediaType": MANIFEST,
            "digest": f"sha256:{'1' * 64}",
            "size": 1,
            "platform": {"os": "linux", "architecture": m},
        }
        for m in machines
    ]
    return json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": found}).encode()


def tagged(registry: Registry, tag: str, content: bytes) -> str:
    """Give ``content`` the tag; return its digest."""
    registry.manifests[("unit/image", tag)] = content
    registry.kinds[digest_of(content)] = INDEX
    return digest_of(content)


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """The URL of a web server with a program."""
    root = tmp_path / "web"
    root.mkdir()
    (root / "program").write_bytes(CONTENT)
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(root))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    with tls.serving(server):
        yield f"http://127.0.0.1:{server.server_port}"


@pytest.fixture
def lock(registry: Registry, web: str, make_lock: MakeLock, state: Path, monkeypatch: pytest.MonkeyPatch) -> Lock:
    """A lock with an image and a file without digests, one that has its own, one only built, one of few sites."""
    del state
    image = {**PROGRAM_IMAGE, "needs": []}
    made = make_lock(
        image={**image, "upstream": {"reference": f"{registry.address}/unit/image:1", "digest": None}},
        file={"upstream": {"files": {"program": {"url": f"{web}/program", "digest": None}}}},
        known={"upstream": {"files": {"program": {"url": f"{web}/absent", "digest": LOCKED}}}},
        built={},
        chosen={
            **image, "image": "x/chosen:1", "builder": "upstream", "optional": True,
            "upstream": {"reference": f"{registry.address}/unit/image:2", "digest": None},
        },
    )  # fmt: skip
    monkeypatch.setattr(supply, "load_lock", lambda site=None: _with_record(made, site))
    tagged(registry, "1", index("s390x", "amd64"))
    tagged(registry, "2", index("amd64"))
    return made


def _with_record(lock: Lock, site: str | None) -> Lock:
    return recorded.with_recorded(lock, recorded.load(site)) if site else lock


def resolve(*, check: bool = False, source: str = "upstream", site: bool = True, **given: Any) -> dict[str, Any]:
    """Run the step for a site that chose ``chosen``; return its result."""
    done = action(check=check)
    chosen = given.pop("chosen", ["chosen"])
    here = {"site": "unit", "supply": {"source": source, "chosen": chosen}}
    done.variables = {"groundup_site": here} if site else {}
    cached = "build" if source == "registry" else source
    found: dict[str, Any] = {"step": "resolve", "names": None, "source": cached, "force": []}
    return done.work({**found, **given})


def test_what_has_no_digest_is_asked_recorded_and_then_accepted(lock: Lock, registry: Registry, web: str) -> None:
    one, two = digest_of(index("s390x", "amd64")), digest_of(index("amd64"))
    wanted = {f"{registry.address}/unit/image:1": one, f"{registry.address}/unit/image:2": two, f"{web}/program": FILE}
    predicted = resolve(check=True)
    assert recorded.load("unit") == {}
    done = resolve()
    assert recorded.load("unit") == wanted
    for result in (predicted, done):
        assert (result["changed"], result["failed"]) == (True, False)
        assert {row["address"]: row["digest"] for row in result["resolved"]} == wanted
        assert all(f"{name} {digest}" in result["diff"]["after"] for name, digest in wanted.items())
    made = supply.ensure("file", lock=_with_record(lock, "unit"), source="upstream")["file"]
    assert (made.path / "program").read_bytes() == CONTENT
    assert supply.missing("file", lock=_with_record(lock, "unit"), source="upstream") == ()


@pytest.mark.usefixtures("lock")
def test_a_registry_that_gives_tokens_to_anybody_is_asked_with_one(registry: Registry) -> None:
    registry.login = ""
    assert not resolve()["failed"]
    assert ("GET", "/v2/unit/image/manifests/1") in registry.requests
    assert any(path.startswith("/token") for _, path in registry.requests)


@pytest.mark.usefixtures("lock")
def test_a_registry_that_wants_a_login_gets_the_machines_own(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.login = "operator:sesame"
    monkeypatch.setenv("REGISTRY_AUTH_FILE", str(tmp_path / "auth.json"))
    refused = resolve()
    assert refused["failed"]
    word = base64.b64encode(b"operator:sesame").decode()
    (tmp_path / "auth.json").write_text(json.dumps({"auths": {registry.address: {"auth": word}}}))
    assert not resolve()["failed"]


@pytest.mark.usefixtures("lock")
def test_a_second_run_asks_nobody_and_changes_nothing(registry: Registry) -> None:
    resolve()
    registry.requests.clear()
    registry.manifests.clear()
    again = resolve()
    assert (again["changed"], again["failed"], again["diff"]["after"]) == (False, False, "")
    assert registry.requests == []


@pytest.mark.usefixtures("lock")
def test_a_tag_that_moved_changes_the_record_by_the_force_flag_alone(registry: Registry) -> None:
    resolve()
    before, after = recorded.load("unit"), tagged(registry, "1", index("amd64", "arm64"))
    assert not resolve()["changed"]
    assert resolve(check=True, force=[OTHER_DIGEST])["changed"]
    assert recorded.load("unit") == before
    done = resolve(force=[OTHER_DIGEST])
    assert before[f"{registry.address}/unit/image:1"] in done["diff"]["before"]
    assert recorded.load("unit") == {**before, f"{registry.address}/unit/image:1": after}


@pytest.mark.usefixtures("lock")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda there: there.manifests.pop(("unit/image", "1")), "manifest unknown|not found|reading manifest"),
        (lambda there: tagged(there, "1", index("s390x", "arm64")), "no image for linux/amd64"),
        (lambda there: tagged(there, "1", b"no manifest"), "no image for linux/amd64|cannot be inspected"),
    ],
)
def test_what_cannot_be_told_fails_and_the_others_are_recorded(
    change: Callable[[Registry], object], said: str, registry: Registry
) -> None:
    import re

    change(registry)
    done = resolve()
    assert done["failed"]
    assert re.search(said, done["msg"])
    assert f"{registry.address}/unit/image:1" in done["msg"]
    assert set(recorded.load("unit").values()) == {FILE, digest_of(index("amd64"))}


def test_a_registry_that_nobody_reaches_is_named(
    make_lock: MakeLock, monkeypatch: pytest.MonkeyPatch, state: Path
) -> None:
    image = {**PROGRAM_IMAGE, "needs": [], "upstream": {"reference": "127.0.0.1:1/unit/image:1", "digest": None}}
    lock = make_lock(image=image)
    monkeypatch.setattr(supply, "load_lock", lambda site=None: _with_record(lock, site))
    done = resolve(chosen=[])
    assert done["failed"]
    assert "127.0.0.1:1/unit/image:1" in done["msg"]
    assert not (state / recorded.FILE).exists()


@pytest.mark.usefixtures("lock")
@pytest.mark.parametrize(
    ("source", "names", "artifacts"),
    [
        ("upstream", None, {"image", "file", "chosen"}),
        ("build", None, {"chosen"}),
        ("registry", None, {"chosen"}),
        ("upstream", ["file", "built", "known"], {"file"}),
    ],
)
def test_only_what_the_site_fetches_is_asked(source: str, names: list[str] | None, artifacts: set[str]) -> None:
    assert {row["artifact"] for row in resolve(source=source, names=names)["resolved"]} == artifacts


@pytest.mark.usefixtures("lock")
def test_digests_are_a_sites() -> None:
    with pytest.raises(Exception, match="site file"):
        resolve(site=False)


def test_the_locks_own_digests_go_before_recorded_ones(lock: Lock, web: str) -> None:
    found = recorded.with_recorded(lock, {f"{web}/absent": FILE, "https://elsewhere.test/x": FILE})
    assert found is lock
    upstream = found.artifacts["known"].upstream
    assert upstream
    assert upstream.files["program"].digest == LOCKED


@pytest.mark.parametrize("text", ["{", "[]", '{"a": "sha256:1"}', '{"a": null}', "\xff"])
def test_a_damaged_record_is_named(text: str, state: Path) -> None:
    state.mkdir(parents=True)
    (state / recorded.FILE).write_bytes(text.encode("latin-1"))
    with pytest.raises(GroundupError, match="cannot be read") as caught:
        recorded.load("unit")
    assert recorded.FILE in caught.value.where


def test_a_recorded_digest_that_is_other_content_by_now_is_refused(lock: Lock, web: str) -> None:
    found = recorded.with_recorded(lock, {f"{web}/program": f"sha256:{'2' * 64}"})
    with pytest.raises(GroundupError, match=f"has digest {FILE}"):
        supply.ensure("file", lock=found, source="upstream")
