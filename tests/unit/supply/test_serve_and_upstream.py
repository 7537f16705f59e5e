"""Images into a registry and back, files from a web server: with the locked digest, or not at all."""

from __future__ import annotations

import functools
import hashlib
import http.server
import io
import json
import tarfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers import mirror
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.cache.artifact import Artifact
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.lock.model import Lock, load_lock
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.make.oci import manifest_digest
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish.digests import PublishedDigests
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish.images import push
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.report import record_digests

from .conftest import PINS, FakeBuilder
from .registry import INDEX, MANIFEST, Registry
from .test_oci import PROGRAM_IMAGE

MakeLock = Callable[..., Lock]
CONTENT = b"a program\n"
DIGEST = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """A web server with a file and an archive that holds it; its URL."""
    root = tmp_path / "web"
    root.mkdir()
    (root / "program").write_bytes(CONTENT)
    with tarfile.open(root / "program.tar.gz", "w:gz") as tar:
        info = tarfile.TarInfo("linux/program")
        info.size = len(CONTENT)
        tar.addfile(info, io.BytesIO(CONTENT))
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(root))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def published(make_lock: MakeLock, registry: Registry) -> Artifact:
    """Build the image and push it, as test/program:1; return it."""
    built = supply.ensure("image", lock=make_lock(program={}, image=PROGRAM_IMAGE))["image"]
    push(registry.address, [built], tls_verify=False)
    return built


@pytest.mark.root
def test_an_upstream_image_is_copied_by_its_locked_digest(
    fake: FakeBuilder, make_lock: MakeLock, lines: list[str], registry: Registry
) -> None:
    del fake
    built = published(make_lock, registry)
    reference = f"{registry.address}/test/program:1"
    upstream = {"reference": reference, "digest": manifest_digest(built.path)}
    there = make_lock(image={**PROGRAM_IMAGE, "needs": [], "upstream": upstream})
    found = supply.ensure("image", progress=lines.append, lock=there, source="upstream")["image"]
    assert manifest_digest(found.path) == upstream["digest"]
    nowhere = make_lock(image={**PROGRAM_IMAGE, "needs": [], "upstream": {**upstream, "digest": f"sha256:{'0' * 64}"}})
    with pytest.raises(GroundupError, match=r"artifact image 1: .* cannot be copied"):
        supply.ensure("image", progress=lines.append, lock=nowhere, source="upstream")


@pytest.mark.root
def test_an_image_of_the_sites_own_choice_is_copied_by_its_digest_and_pushed_below_mirror(
    fake: FakeBuilder, make_lock: MakeLock, lines: list[str], registry: Registry
) -> None:
    del fake
    built = published(make_lock, registry)
    digest = manifest_digest(built.path)
    name = mirror.artifact(f"{registry.address}/test/program:1@{digest}")
    copy = supply.ensure([name], progress=lines.append)[name]
    assert manifest_digest(copy.path) == digest
    assert supply.missing([name]) == ()
    (pushed,) = push(registry.address, [copy], tls_verify=False)
    place = f"mirror/{registry.address.replace(':', '_')}/test/program:1"
    assert (pushed.reference, pushed.digest, pushed.changed) == (f"{registry.address}/{place}", digest, True)
    record = PublishedDigests.of([copy], [], root=Path("/"))
    assert record.pin({name: pushed.reference}, registry=registry.address) == {name: f"{pushed.reference}@{digest}"}


@pytest.mark.root
def test_of_an_upstream_image_for_many_machines_this_ones_is_copied_by_the_digest_of_all(
    fake: FakeBuilder, make_lock: MakeLock, lines: list[str], registry: Registry
) -> None:
    """What projects publish, and name in their release notes, is an index."""
    del fake
    built = published(make_lock, registry)
    ours = registry.manifests[("test/program", "1")]
    instances = [
        {"mediaType": MANIFEST, "digest": digest, "size": size, "platform": {"os": "linux", "architecture": machine}}
        for machine, digest, size in (
            ("s390x", f"sha256:{'1' * 64}", 1),
            ("amd64", manifest_digest(built.path), len(ours)),
        )
    ]
    index = json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": instances}).encode()
    digest = f"sha256:{hashlib.sha256(index).hexdigest()}"
    registry.manifests[("test/program", digest)] = index
    registry.kinds[digest] = INDEX
    upstream = {"reference": f"{registry.address}/test/program:1", "digest": digest}
    lock = make_lock(image={**PROGRAM_IMAGE, "builder": "upstream", "needs": [], "upstream": upstream})
    found = supply.ensure("image", progress=lines.append, lock=lock)["image"]
    assert manifest_digest(found.path) == manifest_digest(built.path)


@pytest.mark.parametrize(("path", "member"), [("program", None), ("program.tar.gz", "linux/program")])
def test_an_upstream_file_is_fetched_and_taken_out_of_its_archive(
    path: str, member: str | None, web: str, make_lock: MakeLock, tmp_path: Path
) -> None:
    digest = f"sha256:{hashlib.sha256((tmp_path / 'web' / path).read_bytes()).hexdigest()}"
    files = {"program": {"url": f"{web}/{path}", "digest": digest, "member": member}}
    lock = make_lock(a={"upstream": {"files": files}})
    found = supply.ensure("a", lock=lock, source="upstream")["a"]
    assert (found.path / "program").read_bytes() == CONTENT
    assert (found.path / "program").stat().st_mode & 0o111
    assert supply.missing("a", lock=lock, source="upstream") == ()


@pytest.mark.parametrize(
    ("upstream", "said"),
    [
        ({"files": {"program": {"url": "URL/program", "digest": None}}}, "artifact a 1: no digest is recorded for"),
        ({"files": {"program": {"url": "URL/program", "digest": f"sha256:{'0' * 64}"}}}, f"has digest {DIGEST}"),
        ({"files": {"program": {"url": "URL/absent", "digest": DIGEST}}}, "/absent cannot be fetched: .*404"),
    ],
)
def test_upstream_refuses_what_is_not_locked_not_there_or_different(
    upstream: dict[str, dict[str, dict[str, str]]], said: str, web: str, make_lock: MakeLock, lines: list[str]
) -> None:
    for file in upstream["files"].values():
        file["url"] = file["url"].replace("URL", web)
    lock = make_lock(a={"upstream": upstream})
    with pytest.raises(GroundupError, match=said) as caught:
        supply.ensure("a", progress=lines.append, lock=lock, source="upstream")
    assert caught.value.remedy
    assert supply.missing("a", lock=lock, source="upstream") == ("a",)


class _Cut(http.server.BaseHTTPRequestHandler):
    """Says how much is to come, sends the beginning of it, and hangs up."""

    def do_GET(self) -> None:
        chunked = self.path == "/chunked"
        self.wfile.write(b"HTTP/1.1 200 OK\r\n" + (b"Transfer-Encoding: chunked" if chunked else b"Content-Length: 40"))
        self.wfile.write(b"\r\n\r\n" + (b"28\r\n" if chunked else b"") + CONTENT)
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.mark.parametrize("path", ["length", "chunked"])
def test_a_download_that_was_cut_is_no_other_file_and_its_digest_is_not_recorded(
    path: str, tmp_path: Path, make_lock: MakeLock, fake: FakeBuilder
) -> None:
    del fake
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Cut)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}/{path}"
    text = f"""format: 1
pins: {yaml.safe_dump(PINS, default_flow_style=True).strip()}
artifacts:
  a: {{kind: files, version: "1", builder: fake, upstream: {{files: {{program: {{url: "{url}", digest: null}}}}}}}}
"""
    lock = tmp_path / "supply.lock"
    lock.write_text(text)
    try:
        with pytest.raises(GroundupError, match="cannot be fetched"):
            record_digests(lock, None, progress=print)
        assert lock.read_text() == text
        locked = make_lock(a={"upstream": {"files": {"program": {"url": url, "digest": f"sha256:{'0' * 64}"}}}})
        with pytest.raises(GroundupError, match="cannot be fetched"):
            supply.ensure("a", lock=locked, source="upstream")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_with_source_upstream_what_nobody_publishes_is_built(
    web: str, fake: FakeBuilder, make_lock: MakeLock, lines: list[str]
) -> None:
    files = {"program": {"url": f"{web}/program", "digest": DIGEST}}
    lock = make_lock(
        base={}, mine={"needs": ["base", "theirs"]}, theirs={"needs": ["base"], "upstream": {"files": files}}
    )
    supply.ensure("theirs", progress=lines.append, lock=lock, source="upstream")
    assert fake.names() == []
    found = supply.ensure("mine", progress=lines.append, lock=lock, source="upstream")
    assert fake.names() == ["base", "mine"]
    assert found["mine"].sha256 != supply.ensure("mine", progress=lines.append, lock=lock)["mine"].sha256


@pytest.mark.root
def test_resolve_records_missing_digests_and_touches_nothing_else(
    web: str, registry: Registry, fake: FakeBuilder, make_lock: MakeLock, tmp_path: Path
) -> None:
    del fake
    built = published(make_lock, registry)
    path = tmp_path / "supply.lock"
    text = f"""# a comment that stays
format: 1
pins: {yaml.safe_dump(PINS, default_flow_style=True).strip()}
artifacts:
  a:   # and so does this
    kind: files
    version: "1"
    builder: fake
    upstream:
      files:
        program: {{url: "{web}/program", digest: null}}
        kept.tar: {{url: "{web}/none", digest: "sha256:{"1" * 64}"}}
  b:
    kind: image
    version: "1"
    builder: fake
    image: x/b:1
    upstream: {{reference: "{registry.address}/test/program:1", digest: null}}
"""
    path.write_text(text)
    record_digests(path, None, progress=print)
    wanted = text.replace('program", digest: null', f'program", digest: {DIGEST}')
    assert path.read_text() == wanted.replace("digest: null", f"digest: {manifest_digest(built.path)}")
    assert load_lock(path).artifacts["b"].upstream is not None
