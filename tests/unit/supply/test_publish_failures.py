"""What goes wrong while a seed is filled: nothing half sent counts, nothing is recorded, errors name the thing."""

from __future__ import annotations

import shutil
import socket
import tarfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible.errors import AnsibleActionFail, AnsibleConnectionFailure
from ansible.plugins.action import ActionBase
from ansible_collections.groundup.cloud.plugins.action.seed import ActionModule
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.served import LAID_OUT
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import Lock
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish import digests
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish.http import wait_for
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish.images import registry_digest
from ansible_collections.groundup.cloud.tests.unit import tls

from .conftest import FakeBuilder
from .seed import Seed
from .test_oci import PROGRAM_IMAGE

pytestmark = pytest.mark.root  # skopeo reads an archive as its owner, root

MakeLock = Callable[..., Lock]


@pytest.fixture
def lock(fake: FakeBuilder, make_lock: MakeLock) -> Lock:
    """Two artifacts of files, and an image of one."""
    del fake
    return make_lock(program={}, image=PROGRAM_IMAGE, other={})


def test_a_connection_that_breaks_records_nothing_and_leaves_nothing(
    lock: Lock, seed: Seed, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(_: object, local: str, remote: str) -> None:
        assert Path(local).stat().st_size > 0
        raise AnsibleConnectionFailure(f"lost while sending {Path(remote).name}")

    with monkeypatch.context() as patch:
        patch.setattr(ActionModule, "_transfer_file", breaks)
        with pytest.raises(AnsibleConnectionFailure, match=r"program-1\.tar"):
            seed.publish(lock)
    assert digests.load("unit") is None
    assert not list(cache.glob("publish-*"))
    assert seed.publish(lock)["files"] == ["program/1", "other/1"]


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize("older", [False, True], ids=["nothing there", "an older one there"])
@pytest.mark.parametrize("within", [True, False], ids=["cut within a file", "cut between two"])
def test_half_an_archive_is_an_error_and_is_sent_again(
    within: bool, older: bool, make_lock: MakeLock, seed: Seed, monkeypatch: pytest.MonkeyPatch
) -> None:
    if older:
        seed.publish(make_lock(program={}, image=PROGRAM_IMAGE, other={}))
    before = digests.load("unit")
    lock = make_lock(program={"inputs": {"text": "long " * 400}}, image=PROGRAM_IMAGE, other={})

    def half(_: object, local: str, remote: str) -> None:
        with tarfile.open(local) as tar:
            place = next(member.offset_data for member in tar if member.name.endswith("/file")) + 600
            end = next(member.offset for member in tar if member.name.endswith(LAID_OUT))
        Path(remote).write_bytes(Path(local).read_bytes()[: place if within else end])

    with monkeypatch.context() as patch:
        patch.setattr(ActionModule, "_transfer_file", half)
        if within:
            with pytest.raises(AnsibleActionFail, match=r"tar --extract .*program-1\.tar.*: tar: Unexpected EOF"):
                seed.publish(lock)
        else:  # tar sees no fault in it
            with pytest.raises(GroundupError, match=r"sent, and not served whole: program/1"):
                seed.publish(lock)
    assert digests.load("unit") == before
    assert (seed.root / "program/1/file").exists(), "the host has some of it"
    assert "program/1" in seed.publish(lock, check=True)["files"], "and is known not to have it"
    assert "program/1" in seed.publish(lock)["files"]
    assert not seed.publish(lock, verify=True)["changed"]


@pytest.mark.parametrize("unpacked", [False, True])
def test_what_a_killed_run_left_on_the_host_goes_with_the_next(
    unpacked: bool, lock: Lock, seed: Seed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(_: object, **task: Any) -> dict[str, Any]:
        if unpacked:
            seed.execute(**task)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ActionModule, "_execute_module", killed)
        with pytest.raises(KeyboardInterrupt):
            seed.publish(lock)
    (left,) = seed.account.rglob("*.tar")
    assert left.parent.stat().st_mode & 0o777 == 0o700, "nobody else reads or writes what root unpacks"
    seed.publish(lock, check=True)
    assert left.exists(), "a prediction changes nothing"
    seed.publish(lock)
    assert not list(seed.account.rglob("*.tar"))


def test_an_account_that_has_no_room_is_told_with_its_own_words(lock: Lock, seed: Seed) -> None:
    shutil.rmtree(seed.account)
    seed.account.write_text("a file in the place of the home")
    with pytest.raises(AnsibleActionFail, match=r"cd .*: can't cd to"):
        seed.publish(lock)
    assert seed.sent == []


def test_a_host_that_cannot_unpack_is_told_with_its_own_words(lock: Lock, seed: Seed) -> None:
    shutil.rmtree(seed.root)
    with pytest.raises(AnsibleActionFail, match=f"{seed.root}: Cannot open: No such file"):
        seed.publish(lock)
    assert digests.load("unit") is None


def test_verify_names_what_the_seed_does_not_serve_and_sends_nothing(lock: Lock, seed: Seed) -> None:
    seed.publish(lock)
    seed.sent.clear()
    shutil.rmtree(seed.root / "other")
    seed.inside.manifests.clear()
    with pytest.raises(
        GroundupError, match=rf"the seed does not serve {seed.registry.address}/test/program:1, other/1"
    ):
        seed.publish(lock, verify=True)
    assert seed.sent == []
    assert seed.inside.manifests == {}


def test_verify_of_what_was_never_made_names_it_and_builds_nothing(
    lock: Lock, seed: Seed, fake: FakeBuilder, cache: Path
) -> None:
    with pytest.raises(GroundupError, match="the cache lacks image, program, other"):
        seed.publish(lock, verify=True)
    assert fake.runs == []
    assert not list((cache / "artifacts").glob("*/*/manifest.json"))


def test_more_than_a_few_wrong_files_are_counted(fake: FakeBuilder, make_lock: MakeLock, seed: Seed) -> None:
    del fake
    names = [f"program{number}" for number in range(7)]
    lock = make_lock(**{name: {} for name in names})
    seed.publish(lock)
    for name in names:
        (seed.root / name / "1/file").write_text("wrong")
    with pytest.raises(GroundupError, match=r"program4/1/file and 2 more") as caught:
        seed.publish(lock, verify=True)
    assert all(f"{name}/1" in caught.value.remedy for name in names)


def test_a_question_the_host_cannot_answer_is_no_wrong_file(
    lock: Lock, seed: Seed, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed.publish(lock)

    def lacks(_: object, **task: Any) -> dict[str, Any]:
        del task
        return {"failed": True, "msg": "[Errno 2] No such file or directory: b'sha256sum'"}

    monkeypatch.setattr(ActionModule, "_execute_module", lacks)
    with pytest.raises(AnsibleActionFail, match=r"sha256sum --check .*No such file"):
        seed.publish(lock, verify=True)


def test_a_registry_that_refuses_an_image_records_nothing(lock: Lock, seed: Seed) -> None:
    seed.inside.read_only = True
    with pytest.raises(GroundupError, match=r"(?s)skopeo .* failed .* image image"):
        seed.publish(lock)
    assert digests.load("unit") is None
    seed.inside.read_only = False
    assert seed.publish(lock)["images"] == [f"{seed.registry.address}/test/program:1"]


def test_a_registry_that_does_not_answer_is_named_with_where_to_look() -> None:
    with pytest.raises(GroundupError, match="no registry answers") as caught:
        wait_for("https://127.0.0.1:1/v2/", ca=tls.pair().certificate, seconds=0)
    assert caught.value.where == "https://127.0.0.1:1/v2/"
    assert "docker-registry" in caught.value.remedy


def test_an_error_is_a_failed_result_with_its_text_not_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: object, given: dict[str, Any]) -> dict[str, Any]:
        del given
        raise GroundupError("no room", where="/cache", why="nothing can be sent", remedy="make room")

    monkeypatch.setattr(ActionModule, "_publish", fails)
    monkeypatch.setattr(ActionModule, "validate_argument_spec", lambda *_, **__: (None, {"step": "publish"}))
    monkeypatch.setattr(ActionBase, "run", lambda *_: {})
    action = object.__new__(ActionModule)
    action._task = SimpleNamespace(check_mode=False)
    result = action.run()
    assert result["failed"]
    assert result["msg"].splitlines()[0] == "no room"


@pytest.fixture
def other() -> Iterator[str]:
    """An address where something listens that is no web server."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:  # closed: the test is over
                    return
                with connection:
                    connection.recv(4096)
                    connection.sendall(b"SSH-2.0-OpenSSH\r\n")

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_what_is_no_web_server_is_told_as_one_that_does_not_answer(other: str) -> None:
    with pytest.raises(GroundupError, match="no registry answers within"):
        wait_for(f"https://{other}/v2/", ca=tls.pair().certificate, seconds=0.1)
    image = SimpleNamespace(image="groundup/memcached:1.6")
    with pytest.raises(GroundupError, match="does not answer as one"):
        registry_digest(f"http://{other}", image)  # type: ignore[arg-type]  # all it reads of an artifact
