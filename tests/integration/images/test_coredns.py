"""CoreDNS as it is built, with the configuration the role renders: what a pod hears about names of every kind.

dig, nslookup, musl and eventlet stop searching at SERVFAIL: a name that nobody knows has to be NXDOMAIN, and at once.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import jinja2
import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.module_utils._kubeadm import name_service

from .conftest import Image

ROOT = Path(__file__).resolve().parents[3]
FOUND, NO_SUCH_NAME = 0, 3
SLOW = 4.0  # seconds: less than a pod waits for an answer, more than a loaded machine takes for one
UPSTREAM = "192.0.2.53"
KNOWN = {"identity.site.test": "10.0.0.1", "kubernetes.site.test": "10.0.0.1"}
# What a pod's resolver makes of a Service's name, with the site's domain in its search list.
SEARCHED = "mariadb.openstack.svc.cluster.local.site.test"
_UPSTREAM = f"""
.:53 {{
    bind {UPSTREAM}
    template IN A outside.example {{
        answer "{{{{ .Name }}}} 60 IN A 198.51.100.7"
    }}
    template ANY ANY . {{
        rcode NXDOMAIN
    }}
}}
"""
Ask = Callable[..., dict[str, tuple[int, int]]]


def corefile() -> str:
    """Return the role's; Kubernetes itself is not there, and files are looked at every other second."""
    environment = jinja2.Environment(undefined=jinja2.ChainableUndefined, autoescape=False)  # noqa: S701  # no HTML
    environment.filters["dictsort"] = lambda names: sorted(names.items())
    text = environment.from_string((ROOT / "roles/kubernetes/templates/coredns.yml.j2").read_text()).render(
        kubernetes_plan={"dns_domain": "cluster.local"}, kubernetes_site={"host": {"names": KNOWN}},
        kubernetes_images={"coredns": "c"}, groups={"control": ["control-1"]},
    )  # fmt: skip
    found = str(next(item for item in yaml.safe_load_all(text) if item["kind"] == "ConfigMap")["data"]["Corefile"])
    for real, test in (("pods insecure", "endpoint http://127.0.0.1:1\n    pods insecure"), ("reload", "reload 2s 1s")):
        assert found.count(real) == 1
        found = found.replace(real, test)
    return found


def node_files(directory: Path, resolv_conf: str) -> None:
    """Write what a node with this resolv.conf has for CoreDNS."""
    servers = name_service.resolvers([resolv_conf], service_cidr="10.96.0.0/16")
    for name, text in name_service.files(servers).items():
        (directory / name).write_text(text)


@contextmanager
def started(command: list[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program until the block ends."""
    with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def serve(image: Callable[[str], Image], tmp_path: Path) -> Iterator[Callable[[str], Ask]]:
    """Return a function that starts CoreDNS on a node with this resolv.conf, and gives a function that asks it."""
    tmp_path.chmod(0o755)
    coredns = image("coredns")
    mounts = {"/etc/coredns": tmp_path / "coredns", "/etc/coredns-node": tmp_path / "node"}
    for directory in mounts.values():
        directory.mkdir()
    (tmp_path / "upstream").write_text(_UPSTREAM)
    network = (
        f"ip link set lo up; ip address add {UPSTREAM}/32 dev lo; exec {coredns.root}/coredns -conf {tmp_path}/upstream"
    )
    with ExitStack() as stack:

        def start(resolv_conf: str) -> Ask:
            (tmp_path / "coredns/Corefile").write_text(corefile())
            node_files(tmp_path / "node", resolv_conf)
            # The resolver is a machine elsewhere; here it makes the network, and has the more specific address of it.
            upstream = stack.enter_context(
                started(["unshare", "--net", "sh", "-ec", network], tmp_path / "log-upstream")
            )
            until(lambda: "CoreDNS-" in (tmp_path / "log-upstream").read_text(), tmp_path / "log-upstream")
            inside = ["nsenter", f"--net=/proc/{upstream.pid}/ns/net"]
            command = coredns.command(["/coredns", "-conf", "/etc/coredns/Corefile"], uid=0, mounts=mounts)
            command.remove("--net")
            process = stack.enter_context(started([*inside, *command], tmp_path / "log"))

            def ask(*names: str) -> dict[str, tuple[int, int]]:
                client = [*inside, sys.executable, str(ROOT / "tests/ask_dns.py"), "127.0.0.1", *names]
                done = subprocess.run(client, capture_output=True, text=True, check=False)
                assert done.returncode == 0, done.stderr + (tmp_path / "log").read_text()
                answers = json.loads(done.stdout)
                assert all(seconds < SLOW for *_, seconds in answers.values()), answers
                return {name: (code, count) for name, (code, count, _) in answers.items()}

            def serves() -> bool:
                assert process.poll() is None, (tmp_path / "log").read_text()
                return "CoreDNS-" in (tmp_path / "log").read_text()

            until(serves, tmp_path / "log")
            return ask

        yield start


def until(condition: Callable[[], bool], log: Path) -> None:
    """Wait for a condition. Raises AssertionError with the log."""
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.1)


@pytest.mark.parametrize(
    "resolv_conf", ["", "search site.test\n", "nameserver 127.0.0.53\n", "nameserver 10.96.0.10\n"]
)
def test_a_node_without_a_resolver_for_pods_knows_the_site_and_says_of_all_else_that_there_is_none(
    serve: Callable[[str], Ask], resolv_conf: str
) -> None:
    """A stub of the node and the cluster's own Service would be a loop: CoreDNS is to ask neither."""
    ask = serve(resolv_conf)
    assert ask(*KNOWN, SEARCHED, "other.site.test", "outside.example", "9.0.0.10.in-addr.arpa") == {
        **dict.fromkeys(KNOWN, (FOUND, 1)),
        **dict.fromkeys([SEARCHED, "other.site.test", "outside.example", "9.0.0.10.in-addr.arpa"], (NO_SUCH_NAME, 0)),
    }


def test_a_service_is_found_by_search_while_the_node_s_resolver_is_down(serve: Callable[[str], Ask]) -> None:
    ask = serve("nameserver 192.0.2.99\n")
    searched = [SEARCHED, SEARCHED.replace("site.test", "of.a.dhcp.server")]
    assert ask(*KNOWN, *searched) == {**dict.fromkeys(KNOWN, (FOUND, 1)), **dict.fromkeys(searched, (NO_SUCH_NAME, 0))}


def test_names_outside_the_cluster_are_those_of_the_node_s_resolver_also_when_it_gets_one_later(
    serve: Callable[[str], Ask], tmp_path: Path
) -> None:
    ask = serve(f"nameserver 127.0.0.1\nnameserver {UPSTREAM}\n")
    expected = {
        **dict.fromkeys([*KNOWN, "outside.example"], (FOUND, 1)),
        **dict.fromkeys([SEARCHED, "other.site.test"], (NO_SUCH_NAME, 0)),
    }
    assert ask(*KNOWN, SEARCHED, "other.site.test", "outside.example") == expected
    node_files(tmp_path / "node", "")
    until(lambda: ask("later.outside.example") == {"later.outside.example": (NO_SUCH_NAME, 0)}, tmp_path / "log")
