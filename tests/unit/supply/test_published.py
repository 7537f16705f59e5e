"""What is published is written down by content, and nodes are told the content, not only the name."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import http.server
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.errors import AnsibleLookupError
from ansible_collections.groundup.cloud.plugins.action import supply_publish
from ansible_collections.groundup.cloud.plugins.lookup import published as lookup
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply import published
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock import Lock
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.published import Record

from .conftest import FakeBuilder
from .registry import Registry, running
from .test_oci import PROGRAM_IMAGE

MakeLock = Callable[..., Lock]
ONE, TWO = f"sha256:{'1' * 64}", f"sha256:{'2' * 64}"
REGISTRY = "registry.unit.test:5000"
PLAN = {
    "site": "unit",
    "supply": {"seed": "seed-1", "registry": REGISTRY, "images": {"program": f"{REGISTRY}/test/program:1"}},
}


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The state directory of site ``unit``, not made yet."""
    monkeypatch.setenv("GROUNDUP_STATE", str(tmp_path / "state"))
    return tmp_path / "state" / "unit"


class Seed:
    """A registry that is written to inside only, a web server, the action that publishes, and what it publishes."""

    def __init__(
        self, root: Path, registry: Registry, inside: Registry, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.root, self.registry, self.inside, self.url = root, registry, inside, url
        self._patch = monkeypatch
        monkeypatch.setattr(supply_publish.ActionModule, "_send", self._send)
        monkeypatch.setattr(supply_publish.ActionModule, "_inside", self._way)
        monkeypatch.setattr(supply_publish.ActionModule, "_execute_module", self._execute)
        self.sent: list[str] = []
        self.ways = 0
        self.commands = 0

    @contextlib.contextmanager
    def _way(self, target: str) -> Iterator[str]:
        assert target == "127.0.0.1:5001"
        self.ways += 1
        yield self.inside.address

    def _execute(self, *, module_name: str, module_args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Do what the module does, on this machine."""
        assert (module_name, task_vars) == ("ansible.builtin.command", {})
        self.commands += 1
        done = subprocess.run(
            module_args["argv"], cwd=module_args["chdir"], input=module_args["stdin"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        return {"failed": done.returncode != 0, "stdout": done.stdout, "stderr": done.stderr}

    def _send(self, place: Path, root: str, task_vars: dict[str, Any]) -> None:
        del root, task_vars
        self.sent.append(place.parent.name)
        shutil.copytree(place, self.root / place.parent.name / place.name, dirs_exist_ok=True)

    def publish(self, lock: Lock, *, check: bool = False, verify: bool = False) -> dict[str, Any]:
        """Run the action's work on ``lock``."""
        self._patch.setattr(supply, "load_lock", lambda: lock)
        action = object.__new__(supply_publish.ActionModule)
        action._task = SimpleNamespace(check_mode=check)
        action._display = SimpleNamespace(display=lambda _: None)
        names = {kind: [n for n, e in lock.artifacts.items() if e.kind == kind] for kind in ("image", "files")}
        arguments = {
            "site": "unit", "source": "build", "registry": self.registry.address, "files_url": self.url,
            "registry_inside": "127.0.0.1:5001", "files_root": str(self.root), "images": names["image"],
            "files": names["files"], "verify": verify,
        }  # fmt: skip
        result: dict[str, Any] = action._publish(arguments, {})
        return result


@pytest.fixture
def seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Seed]:
    """A seed that serves nothing yet."""
    root = tmp_path / "srv"
    root.mkdir()
    handler = functools.partial(Quiet, directory=str(root))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    with running() as inside, running(showing=inside) as registry:
        yield Seed(root, registry, inside, f"http://127.0.0.1:{server.server_port}", monkeypatch)
    server.shutdown()
    thread.join()
    server.server_close()


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test's output clean."""


def test_what_is_published_is_recorded_by_digest_and_a_second_time_nothing_changes(
    fake: FakeBuilder, make_lock: MakeLock, seed: Seed, state: Path
) -> None:
    del fake
    lock = make_lock(program={}, image=PROGRAM_IMAGE)
    assert seed.publish(lock)["changed"]
    record = published.load("unit")
    assert record is not None
    (manifest,) = {content for key, content in seed.registry.manifests.items() if key[1] == "1"}
    assert record.images == {"test/program:1": f"sha256:{hashlib.sha256(manifest).hexdigest()}"}
    content = (seed.root / "program/1/file").read_bytes()
    assert record.files == {"program/1/file": hashlib.sha256(content).hexdigest()}
    again = seed.publish(lock)
    assert not again["changed"]
    assert again["published"] == record.plain()
    assert not seed.publish(lock, verify=True)["changed"]
    (state / "published.json").unlink()
    assert seed.publish(lock)["changed"], "a record that is gone is written again"
    assert published.load("unit") == record


def test_an_artifact_made_again_under_its_version_is_told_by_its_new_digest(
    fake: FakeBuilder, make_lock: MakeLock, seed: Seed, lines: list[str]
) -> None:
    del fake
    lock = make_lock(program={}, image=PROGRAM_IMAGE, other={})
    seed.publish(lock)
    before = published.load("unit")
    changed = make_lock(program={"inputs": {"text": "other content"}}, image=PROGRAM_IMAGE, other={})
    supply.ensure(None, progress=lines.append, lock=changed)
    foreseen = seed.publish(changed, check=True)
    assert published.load("unit") == before, "a prediction writes nothing"
    seed.sent.clear()
    seed.publish(changed)
    after = published.load("unit")
    assert before is not None
    assert after is not None
    assert foreseen["changed"]
    assert foreseen["published"] == after.plain()
    assert before.images.keys() == after.images.keys()
    assert before.images != after.images
    assert before.files["program/1/file"] != after.files["program/1/file"]
    assert before.files["other/1/file"] == after.files["other/1/file"]
    assert seed.sent == ["program"]


def test_images_are_put_in_inside_only_and_when_all_is_there_nobody_goes_there(
    fake: FakeBuilder, make_lock: MakeLock, seed: Seed
) -> None:
    del fake
    lock = make_lock(program={}, image=PROGRAM_IMAGE)
    first = seed.publish(lock)
    assert first["images"] == [f"{seed.registry.address}/test/program:1"]
    assert seed.inside.pushes() == 1
    assert {method for method, _ in seed.registry.requests} <= {"GET", "HEAD"}
    assert seed.ways == 1
    seed.publish(lock)
    seed.publish(lock, check=True)
    seed.publish(lock, verify=True)
    assert seed.ways == 1


def test_every_file_is_compared_with_the_record_by_the_host_itself(
    fake: FakeBuilder, make_lock: MakeLock, seed: Seed
) -> None:
    """The larger one too: a fetch of the smallest would not see it."""
    del fake
    lock = make_lock(program={}, image=PROGRAM_IMAGE, other={}, third={})
    seed.publish(lock)
    seed.publish(lock, verify=True)
    assert seed.commands == 1, "one question for all files"
    (seed.root / "other/1/file").unlink()
    (seed.root / "third/1/file").write_text("something else, and longer than what was there\n")
    with pytest.raises(GroundupError, match=r"not as published: other/1/file, third/1/file") as caught:
        seed.publish(lock, verify=True)
    assert "remove other/1, third/1 there" in caught.value.remedy


def test_a_prediction_knows_no_digest_of_what_is_not_made_yet(
    fake: FakeBuilder, make_lock: MakeLock, seed: Seed, state: Path
) -> None:
    fresh = seed.publish(make_lock(program={}, image=PROGRAM_IMAGE), check=True)
    assert (fresh["changed"], fresh["published"]) == (True, {"images": {}, "files": {}})
    assert fake.runs == []
    assert not state.exists()
    seed.publish(make_lock(program={}, image=PROGRAM_IMAGE, other={}))
    changed = make_lock(program={"inputs": {"text": "other content"}}, image=PROGRAM_IMAGE, other={})
    foreseen = seed.publish(changed, check=True)
    assert foreseen["published"]["images"] == {}
    assert list(foreseen["published"]["files"]) == ["other/1/file"]


def test_only_names_of_the_sites_registry_get_a_digest() -> None:
    record = Record(images={"groundup/a:1": ONE})
    references = {
        "a": f"{REGISTRY}/groundup/a:1",
        "own": f"{REGISTRY}/groundup/a:1@{TWO}",
        "elsewhere": "example.test/groundup/a:1",
        "unpublished": f"{REGISTRY}/groundup/b:1",
    }
    assert record.pin(references, registry=REGISTRY) == {**references, "a": f"{REGISTRY}/groundup/a:1@{ONE}"}


def look(**variables: Any) -> dict[str, Any]:
    found: list[dict[str, Any]] = lookup.LookupModule().run([PLAN], variables=variables)
    return found[0]


def test_nodes_are_told_digests_and_without_a_record_nothing_but_a_prediction() -> None:
    reference = f"{REGISTRY}/test/program:1"
    with pytest.raises(
        AnsibleLookupError, match=r"nothing is recorded of what seed-1 serves(.|\n)*groundup.cloud.seed"
    ):
        look()
    assert look(ansible_check_mode=True) == {"images": {"program": reference}, "files": {}}
    published.save("unit", Record(images={"test/program:1": ONE}, files={"program/1/file": "ff"}))
    assert look() == {"images": {"program": f"{reference}@{ONE}"}, "files": {"program/1/file": "ff"}}


def test_a_prediction_follows_what_the_seeds_layer_foresaw_and_a_run_does_not() -> None:
    published.save("unit", Record(images={"test/program:1": ONE}))
    said = {"seed-1": {"seed_published": {"published": Record(images={"test/program:1": TWO}).plain()}}}
    assert look(ansible_check_mode=True, hostvars=said)["images"]["program"].endswith(TWO)
    assert look(ansible_check_mode=False, hostvars=said)["images"]["program"].endswith(ONE)
    skipped = {"seed-1": {"seed_published": {"skipped": True}}}
    assert look(ansible_check_mode=True, hostvars=skipped)["images"]["program"].endswith(ONE)


def test_a_site_without_a_seed_takes_the_names_of_its_registry_as_they_are() -> None:
    plan = {**PLAN, "supply": {**PLAN["supply"], "seed": None}}  # type: ignore[dict-item]
    found = lookup.LookupModule().run([plan], variables={})
    assert found == [{"images": {"program": f"{REGISTRY}/test/program:1"}, "files": {}}]


@pytest.mark.parametrize("text", ["", "[]", '{"images": {}}', '{"images": [], "files": {}}'])
def test_a_damaged_record_is_named_with_what_to_do(text: str, state: Path) -> None:
    state.mkdir(parents=True)
    (state / "published.json").write_text(text)
    with pytest.raises(GroundupError, match="cannot be read") as caught:
        published.load("unit")
    assert "groundup.cloud.seed" in caught.value.remedy
