"""The first run reaches a host with the operator's own ssh, places the site's key, then needs no other."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.tests.integration.contact.conftest import Operator
from ansible_collections.groundup.cloud.tests.integration.contact.machine import PASSWORD, Machine

Start = Callable[[int], Machine]
ONE = "--limit=node-1"
SPARED = "max_unavailable: 1, "
# The first ssh with an input closes its input before it says why: what a busy controller sees of a refused login.
EARLY = """#!/bin/sh
[ ! -p /dev/stdin ] || [ -e "$0.began" ] && exec ssh "$@"
: > "$0.began"
exec <&-
sleep 2
exec ssh "$@" < /dev/null
"""
PASSWORDLESS = "echo 'ops ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/ops"


@pytest.fixture
def agent(operator: Operator) -> Iterator[Path]:
    """Return the socket of an agent that holds the operator's key."""
    socket = operator.home / "agent"
    with subprocess.Popen(["ssh-agent", "-D", "-a", socket], stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()  # it listens
        subprocess.run(["ssh-add", "-q", operator.key], env={"SSH_AUTH_SOCK": str(socket)}, check=True)
        operator.key.unlink()
        yield socket
        process.terminate()


@pytest.fixture
def passwords(operator: Operator) -> tuple[str, str]:
    """Return the options that stand for answering -k and -K."""
    file = operator.home / "password"
    file.write_text(PASSWORD)
    return f"--connection-password-file={file}", f"--become-password-file={file}"


def test_a_private_key_lets_the_run_place_the_sites_key(operator: Operator, machine: Start) -> None:
    one = machine(1)
    one.admit(operator.public_key)
    one.run(PASSWORDLESS)
    operator.write_site(node_1=one.host_key)
    option = f"--private-key={operator.key}"
    predicted = operator.play(ONE, "--check", "--diff", option)
    assert predicted.startswith("exit 0"), predicted
    assert "/etc/sudoers.d/groundup" in predicted
    assert not operator.state.exists()
    assert one.run("ls -A /etc/ssh/sshd_config.d; find /etc/ssh/authorized_keys.d 2>&1 | head -c 5") == "find:"

    first = operator.play(ONE, option)
    assert first.startswith("exit 0"), first
    assert "changed: [node-1]" in first
    site_key = (operator.state / "ssh/id_ed25519.pub").read_text()
    assert one.run("cat /etc/ssh/authorized_keys.d/ops") == site_key
    one.run("rm /etc/sudoers.d/ops /home/ops/.ssh/authorized_keys")  # the operator is gone
    again = operator.play(ONE)
    assert again.startswith("exit 0"), again
    assert "changed: [node-1]" not in again


def test_an_agent_lets_another_account_in_and_the_sites_own_is_made(
    operator: Operator, machine: Start, agent: Path
) -> None:
    one = machine(1)
    one.admit(operator.public_key)
    one.run(PASSWORDLESS)
    operator.write_site(user="deploy", node_1=one.host_key)
    refused = operator.play(ONE, SSH_AUTH_SOCK=str(agent))
    assert refused.startswith("exit 2"), refused
    for said in (
        "node-1 refuses every login",
        "deploy with the site's key: ",
        "deploy with your ssh keys: ",
        "root with",
    ):
        assert said in refused
    assert "Permission denied" in refused
    first = operator.play(ONE, "-u", "ops", SSH_AUTH_SOCK=str(agent))
    assert first.startswith("exit 0"), first
    assert one.run("id -un deploy; cat /etc/sudoers.d/groundup").startswith("deploy\n")
    again = operator.play(ONE)
    assert again.startswith("exit 0"), again


def test_a_password_for_ssh_and_sudo(operator: Operator, machine: Start, passwords: tuple[str, str]) -> None:
    one = machine(1)
    operator.write_site(node_1=one.host_key)
    without = operator.play(ONE, passwords[0])
    assert without.startswith("exit 2"), without
    assert "node-1 has a sudo that asks for a password" in without
    assert "-K" in without
    first = operator.play(ONE, *passwords)
    assert first.startswith("exit 0"), first
    again = operator.play(ONE)
    assert again.startswith("exit 0"), again
    for done in (without, first, again):
        assert PASSWORD not in done


def test_a_site_key_put_there_by_hand_still_gets_its_sudo(
    operator: Operator, machine: Start, passwords: tuple[str, str]
) -> None:
    """Also what a run leaves that was killed before it was done."""
    one = machine(1)
    operator.write_site(node_1=one.host_key)
    assert operator.play(ONE).startswith("exit 2")  # makes the site's key
    one.admit((operator.state / "ssh/id_ed25519.pub").read_text().strip())
    first = operator.play(ONE, passwords[1])
    assert first.startswith("exit 0"), first
    again = operator.play(ONE)
    assert again.startswith("exit 0"), again


def test_a_worker_whose_sudo_broke_does_not_stop_the_site_and_a_new_one_does(
    operator: Operator, machine: Start
) -> None:
    one, two = machine(1), machine(2)
    for each in (one, two):
        each.admit(operator.public_key)
    one.run(PASSWORDLESS)
    operator.write_site(workers=SPARED, node_1=one.host_key, node_2=two.host_key)
    option = f"--private-key={operator.key}"
    assert (new := operator.play(option)).startswith("exit 2"), new
    two.run(PASSWORDLESS)
    assert (first := operator.play(option)).startswith("exit 0"), first
    two.run("rm /etc/sudoers.d/ops /etc/sudoers.d/groundup")
    serving = operator.play(option)
    assert serving.startswith("exit 4"), serving
    assert "The run went to its end without: node-2" in serving


def test_a_node_that_nobody_can_log_in_to_does_not_stop_the_site(operator: Operator, machine: Start) -> None:
    one, two = machine(1), machine(2)

    def ends(code: int, said: str) -> str:
        done = operator.play(option, ANSIBLE_SSH_ARGS="-C")  # no connection of the run before
        assert done.startswith(f"exit {code}"), done
        assert said in done
        return done

    option, out = f"--private-key={operator.key}", "rm /etc/ssh/authorized_keys.d/ops /home/ops/.ssh/authorized_keys"
    for each in (one, two):
        each.admit(operator.public_key)
        each.run(PASSWORDLESS)
    operator.write_site(workers=SPARED, node_1=one.host_key, node_2=two.host_key)
    ends(0, "changed: [node-2]")
    two.run(out)
    assert "ERROR" in ends(2, "node-2 refuses every login")
    (operator.state / "cluster.json").write_text('{"ca": "", "nodes": ["node-1", "node-2"]}')
    done = ends(4, "refuses every login")
    assert "The run went to its end without: node-2" in done
    assert "ERROR" not in done
    two.run("ssh-keygen -q -t ed25519 -N '' -f /etc/ssh/new; mv /etc/ssh/new /etc/ssh/ssh_host_ed25519_key")
    ends(4, "another ssh key than the known one")
    operator.write_site(workers=SPARED, node_1=one.host_key)
    ends(4, "shows an ssh key that nobody has confirmed")
    known = operator.state / "ssh/known_hosts"
    assert not known.exists() or "127.94.0.12" not in known.read_text(), "no key was taken"
    two.end()
    ends(4, "node-2 cannot be reached by ssh")
    one.run(out)
    ends(2, "node-1 refuses every login")


def test_keys_nobody_confirmed_are_shown_and_taken_with_consent_alone(operator: Operator, machine: Start) -> None:
    one, two = machine(1), machine(2)
    for each in (one, two):
        each.admit(operator.public_key)
        each.run(PASSWORDLESS)
    operator.write_site(node_2=two.host_key)
    option = f"--private-key={operator.key}"
    shown = operator.play(option)
    assert shown.startswith("exit 2"), shown
    assert f"node-1: {one.host_key}" in shown
    assert f"node-2: {two.host_key}" not in shown
    print_ = re.search(r"contact_accept_host_keys=(SHA256:\S+)", shown)
    assert print_
    assert one.run("ls -A /etc/ssh/sshd_config.d") == two.run("ls -A /etc/ssh/sshd_config.d") == ""

    wrong = operator.play(option, "-e", "contact_accept_host_keys=SHA256:" + "A" * 43)
    assert wrong.startswith("exit 2"), wrong
    assert f"node-1: {one.host_key}" in wrong
    predicted = operator.play(option, "-e", print_[0], "--tags", "check")
    assert predicted.startswith("exit 0"), predicted
    assert "/etc/ssh/authorized_keys.d/ops" in predicted
    assert not (operator.state / "ssh/known_hosts").exists()
    taken = operator.play(option, "-e", print_[0])
    assert taken.startswith("exit 0"), taken
    assert (operator.state / "ssh/known_hosts").read_text() == f"[127.94.0.11]:{operator.port} {one.host_key}\n"
    again = operator.play()
    assert again.startswith("exit 0"), again


def test_another_key_than_the_known_one_is_an_error(operator: Operator, machine: Start) -> None:
    one = machine(1)
    one.admit(operator.public_key)
    known = operator.public_key.rpartition(" ")[0]
    operator.write_site(node_1=known)
    done = operator.play(ONE, f"--private-key={operator.key}", "-e", "contact_accept_host_keys=x")
    assert done.startswith("exit 2"), done
    assert "node-1 shows another ssh key than the known one" in done
    shown, known = (
        line.split()[1] for line in (one.run("ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub"), operator.print)
    )
    assert f"shows {shown};" in done
    assert f"host_keys:2 has {known}" in done
    assert "access.host_keys.node-1" in done


def test_root_as_the_sites_account_where_root_may_not_log_in_yet(operator: Operator, machine: Start) -> None:
    one = machine(1)
    one.admit(operator.public_key)
    one.run(f"{PASSWORDLESS}; echo 'PermitRootLogin no' > /etc/ssh/sshd_config.d/50-theirs.conf")
    operator.write_site(user="root", node_1=one.host_key)
    first = operator.play(ONE, f"--private-key={operator.key}", "-u", "ops")
    assert first.startswith("exit 0"), first
    again = operator.play(ONE)
    assert again.startswith("exit 0"), again


def test_a_refusal_is_heard_where_ssh_closes_its_input_first(operator: Operator, machine: Start) -> None:
    one = machine(1)
    one.admit(operator.public_key)
    one.run(f"{PASSWORDLESS}; echo 'PermitRootLogin no' > /etc/ssh/sshd_config.d/50-theirs.conf")
    operator.write_site(user="root", node_1=one.host_key)
    early = operator.home / "early"
    early.write_text(EARLY)
    early.chmod(0o755)
    mine = (f"--private-key={operator.key}", "-u", "ops")
    first = operator.play(ONE, *mine, ANSIBLE_SSH_EXECUTABLE=str(early))
    assert Path(f"{early}.began").exists()
    assert first.startswith("exit 0"), first


def test_an_sshd_that_keeps_the_sites_account_out_is_named_and_still_takes_the_operator(
    operator: Operator, machine: Start
) -> None:
    one = machine(1)
    one.admit(operator.public_key)
    one.run(f"{PASSWORDLESS}; echo 'AllowUsers ops' > /etc/ssh/sshd_config.d/50-theirs.conf")
    operator.write_site(user="deploy", node_1=one.host_key)
    mine = (f"--private-key={operator.key}", "-u", "ops")
    refused = operator.play(ONE, *mine)
    assert refused.startswith("exit 2"), refused
    assert "node-1 does not take deploy with the site's key, which was just placed" in refused.replace("''", "'")
    assert "AllowUsers" in refused
    one.run("rm /etc/ssh/sshd_config.d/50-theirs.conf")
    first = operator.play(ONE, *mine)
    assert first.startswith("exit 0"), first


def test_a_port_that_answers_and_says_nothing_ends_in_time(operator: Operator) -> None:
    operator.write_site()
    with socket.create_server(("127.94.0.11", operator.port)):
        done = operator.play(ONE, ANSIBLE_TIMEOUT="2")
    assert done.startswith("exit 4"), done  # set aside: whether the run may go on is for the limits of the site
    assert "node-1 cannot be reached by ssh" in done
    assert "timed out" in done


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("mv /usr/bin/sudo /usr/bin/sudone", "node-1 has no sudo"),
        ("mv /usr/bin/python3 /usr/bin/python4", "node-1 has no /usr/bin/python3"),
        ("gpasswd -d ops sudo", "node-1 does not let the account use sudo"),
    ],
)
def test_what_a_host_lacks_is_named_and_a_silent_one_hides_no_other(
    operator: Operator, machine: Start, passwords: tuple[str, str], broken: str, said: str
) -> None:
    one = machine(1)
    one.admit(operator.public_key)
    one.run(broken)
    operator.write_site(node_1=one.host_key, node_2=one.host_key)  # nothing listens at node-2
    done = operator.play(f"--private-key={operator.key}", passwords[1])
    assert done.startswith("exit 2"), done
    assert said in done
    assert "node-2 cannot be reached by ssh" in done
    assert f"127.94.0.12, port {operator.port}" in done
    assert "Connection refused" in done
