"""A site's own name server on this machine: BIND with what docs/dns-and-certificates.md tells operators to write."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.plugin_utils.supply import ensure
from ansible_collections.groundup.cloud.tests.ask_dns import ask
from ansible_collections.groundup.cloud.tests.e2e.waiting import until
from ansible_collections.groundup.cloud.tests.integration.images.conftest import unpack_image

ROOT = Path(__file__).resolve().parents[2]
IMAGE = "test-name-server"
# Without validation it asks nobody on the internet.
_OWN = (
    "listen-on {{ {address}; }}; listen-on-v6 {{ none; }}; dnssec-validation no; "
    'directory "/tmp"; pid-file none; session-keyfile none;'
)
_ENTER = 'mount --rbind /dev "$1/dev"; mount -t proc proc "$1/proc"; exec chroot "$@"'


def configuration(address: str, primaries: Sequence[str]) -> str:
    """Return the page's configuration, for a server at ``address``."""
    page = (ROOT / "docs/dns-and-certificates.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^    primaries cloud \{.*?(?=^[^ \n])", page, flags=re.DOTALL | re.MULTILINE)
    hosts = " ".join(f"{one} port 30354;" for one in primaries)
    text = re.sub(r"primaries cloud \{[^}]*\}", f"primaries cloud {{ {hosts} }}", block, count=1)
    return text.replace("options {", "options { " + _OWN.format(address=address), 1) + "\ncontrols {};\n"


@contextmanager
def name_server(address: str, primaries: Sequence[str], place: Path) -> Iterator[Path]:
    """Run BIND at ``address``, which fetches zones from ``primaries``; give its log."""
    image = unpack_image(ensure(IMAGE)[IMAGE].path, place)
    (place / "etc/bind/groundup.conf").write_text(configuration(address, primaries), encoding="utf-8")
    (place / "tmp").chmod(0o1777)
    (place / "run/named").mkdir(parents=True, exist_ok=True)
    enter = ["unshare", "--mount", "--pid", "--fork", "--kill-child=KILL", "--", "sh", "-euc", _ENTER, "sh", str(place)]
    log = place / "tmp/log"
    with log.open("wb") as told:
        run = [*enter, "env", "-i", *(f"{key}={value}" for key, value in image.env.items())]
        program = [*run, "/usr/sbin/named", "-g", "-4", "-n", "1", "-c", "/etc/bind/groundup.conf"]
        with subprocess.Popen(program, stdout=told, stderr=subprocess.STDOUT) as process:
            try:
                until(lambda: process.poll() is not None or _answers(address), seconds=60)
                assert process.poll() is None, log.read_text(errors="replace")
                yield log
            finally:
                process.kill()


def _answers(address: str) -> bool:
    try:
        ask(address, "nobody.test", patience=1.0)
    except OSError:
        return False
    return True
