"""What ssh, sudo and a host's shell say, as faults with a remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.contact.faults import (
    Kind,
    fault_of,
    kind_of,
    presence,
    words,
)
from ansible_collections.groundup.cloud.plugins.plugin_utils.contact.host_keys import fingerprint

KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIIl4ihn7CPPqL8ikWg4Zjy7gMq376PVX8z7nSORWMyX9"
OTHER = "AAAAC3NzaC1lZDI1NTE5AAAAIGBGf9b/WCrTsYIqgC555sYYXCul7TWujHiAps4S4R69"
CHANGED = """\
Failed to connect to the host via ssh: @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!
Someone could be eavesdropping on you right now (man-in-the-middle attack)!
It is also possible that a host key has just been changed.
The fingerprint for the ED25519 key sent by the remote host is
{sent}.
Please contact your system administrator.
Add correct host key in {path} to get rid of this message.
Offending ED25519 key in {path}:2
Host key for 10.0.0.1 has changed and you have requested strict checking.
Host key verification failed.
"""
UNKNOWN = """\
Failed to connect to the host via ssh: No ED25519 host key is known for 10.0.0.1 and you have requested strict checking.
Host key verification failed."""
SAID: list[tuple[str, Kind]] = [
    (CHANGED, "host-key-changed"),
    (UNKNOWN, "host-key-unknown"),
    ("Failed to connect to the host via ssh: ops@10.0.0.1: Permission denied (publickey,password).", "denied"),
    ("Received disconnect from 10.0.0.1 port 22:2: Too many authentication failures", "denied"),
    ("ssh: connect to host 10.0.0.1 port 22: Connection refused", "unreachable"),
    ("ssh: connect to host 10.0.0.1 port 22: Connection timed out", "unreachable"),
    ("ssh: connect to host 10.0.0.1 port 22: No route to host", "unreachable"),
    (
        "Failed to connect to the host via ssh: ssh: connect to host 10.0.0.1 port 22: Network is unreachable",
        "unreachable",
    ),
    ("ssh: connect to host 10.0.0.1 port 22: Host is down", "unreachable"),
    ("ssh: Could not resolve hostname node-1: Name or service not known", "unreachable"),
    ("ssh: Could not resolve hostname node-1: Temporary failure in name resolution", "unreachable"),
    ("Connection timed out during banner exchange\nConnection to 10.0.0.1 port 22 timed out", "unreachable"),
    ("Timeout, server 10.0.0.1 not responding.", "unreachable"),
    ("channel 0: open failed: connect failed: No route to host\nstdio forwarding failed", "unreachable"),
    ("nc: connect to 10.0.0.1 port 22 (tcp) failed: Connection refused", "unreachable"),
    (
        "System is booting up. Unprivileged users are not permitted to log in yet. Please come back later.\n"
        "Connection closed by 10.0.0.1 port 22",
        "starting",
    ),
    ("kex_exchange_identification: Connection closed by remote host", "closed"),
    ("kex_exchange_identification: read: Connection reset by peer\nConnection reset by 10.0.0.1 port 22", "closed"),
    ("Connection closed by 10.0.0.1 port 22", "closed"),
    ("Failed to connect to the host via ssh: ", "silent"),
    ("sudo: sorry, you must have a tty to run sudo", "login-failed"),
    ("This account is currently not available.", "login-failed"),
    (
        "Your account has expired; please contact your system administrator.\nConnection closed by 10.0.0.1",
        "login-failed",
    ),
    ("Password change required but no TTY available.", "login-failed"),
    ("WARNING: Your password has expired.", "login-failed"),
    ("You are required to change your password immediately (administrator enforced).", "login-failed"),
    (
        "Unable to negotiate with 10.0.0.1 port 22: no matching host key type found. Their offer: ssh-rsa",
        "login-failed",
    ),
    ("mux_client_request_session: session request failed: Session open refused by peer", "login-failed"),
    ("exec request failed on channel 0", "login-failed"),
    ("/bin/sh: 1: cannot create /home/ops/x: Permission denied", "login-failed"),
    ("mkdir: cannot create directory '/home/ops/.ansible': Permission denied", "login-failed"),
    ("mkdir: cannot create directory '/home/ops/.ansible': No space left on device", "login-failed"),
    ("bash: fork: retry: Resource temporarily unavailable", "login-failed"),
    ("/bin/sh: 1: /usr/bin/python3: Permission denied", "login-failed"),
    ("sudo: PAM account management error: Authentication service cannot retrieve authentication info", "login-failed"),
    ("sudo: account validation failure, is your account locked?", "login-failed"),
    ("sudo: /usr/bin/sudo must be owned by uid 0 and have the setuid bit set", "login-failed"),
    ("sudo: effective uid is not 0, is /usr/bin/sudo on a file system with the 'nosuid' option set", "login-failed"),
    ("sudo: unable to open /etc/sudoers: Permission denied", "login-failed"),
    ("/etc/sudoers.d/site:3:19: syntax error\nsudo: no valid sudoers sources found, quitting", "login-failed"),
    ('sudo: The "no new privileges" flag is set, which prevents sudo from running as root.', "login-failed"),
    ("sudo: ldap_sasl_bind_s(): Connection timed out", "login-failed"),
    ("sudo: unable to resolve host node-1: Name or service not known\nsudo: a password is required", "sudo-password"),
    ("sudo: no tty present and no askpass program specified", "sudo-password"),
    ("sudo: interactive authentication is required", "sudo-password"),
    ("sudo: 3 incorrect password attempts", "sudo-password"),
    ("env: 'sudo': No such file or directory", "sudo-missing"),
    ("env: \u2018sudo\u2019: No such file or directory", "sudo-missing"),
    ("zsh:1: command not found: sudo", "sudo-missing"),
    ("sudo: I'm sorry ops. I'm afraid I can't do that", "sudo-refused"),
    ("env: 'python3': No such file or directory", "python-missing"),
    ("ssh: connect to host 10.0.0.1 port 22: Operation not permitted", "ssh-broken"),
    ("ssh: connect to host 10.0.0.1 port 22: Permission denied", "ssh-broken"),
    ("[Errno 2] No such file or directory: b'ssh'", "ssh-broken"),
    ("to use the password_mechanism=sshpass, you must install the sshpass program", "ssh-broken"),
    ("Invalid/incorrect password: Permission denied, please try again.", "denied"),
    ('unix_listener: path "/home/x/.ansible/cp/1" too long for Unix domain socket', "ssh-broken"),
    ("/home/x/.ssh/config: line 3: Bad configuration option: prot", "ssh-broken"),
    ("Bad owner or permissions on /home/x/.ssh/config", "ssh-broken"),
    ("Missing sudo password", "sudo-password"),
    ("Incorrect sudo password", "sudo-password"),
    ("Timeout (12s) waiting for privilege escalation prompt: ", "sudo-password"),
    ("[sudo] password for ops: ", "sudo-password"),
    ("sudo-rs: interactive authentication is required", "sudo-password"),
    ("/usr/bin/python3: Command not found.", "python-missing"),  # csh
    ("bash: /usr/bin/python3: cannot execute: required file not found", "python-missing"),
    ("sudo: Command not found.", "sudo-missing"),
    ("Could not chdir to home directory /home/ops: No such file\nsudo: a password is required", "sudo-password"),
    ("Last login: Mon Nov 23 10:00:00 2026\n/bin/sh: 1: /usr/bin/python3: not found", "python-missing"),
    ("Account locked due to 5 failed logins", "login-failed"),
    ("System is going down. Unprivileged users are not permitted to log in anymore.", "login-failed"),
    ("/bin/sh: 1: cannot create /tmp/x: Read-only file system", "login-failed"),
    ("/bin/sh: 1: sudo: not found", "sudo-missing"),
    ("bash: line 1: sudo: command not found", "sudo-missing"),
    ("ops is not in the sudoers file.", "sudo-refused"),
    ("Sorry, user ops may not run sudo on node-1.", "sudo-refused"),
    ("Sorry, user ops is not allowed to execute '/bin/sh -c ...' as root on node-1.", "sudo-refused"),
    ("/bin/sh: 1: /usr/bin/python3: not found", "python-missing"),
    ("The module interpreter '/usr/bin/python3' was not found.", "python-missing"),
]


@pytest.mark.parametrize(("said", "kind"), SAID)
def test_what_is_said_has_a_meaning(said: str, kind: Kind) -> None:
    assert kind_of(said) == kind


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ("Failed to connect to the host via ssh: ssh: connect to host h port 22: Connection timed out", "silent"),
        ("ssh: connect to host 10.0.0.1 port 22: No route to host", "silent"),
        ("ssh: connect to host 10.0.0.1 port 22: Host is down", "silent"),
        ("Timeout, server 10.0.0.1 not responding.", "unknown"),  # sshd did not answer: a busy machine's may not
        ("channel 0: open failed: connect failed: No route to host\nstdio forwarding failed", "silent"),
        ("ssh: connect to host 10.0.0.1 port 22: Connection refused", "answers"),
        ("nc: connect to 10.0.0.1 port 22 (tcp) failed: Connection refused", "answers"),
        ("ops@10.0.0.1: Permission denied (publickey).", "answers"),
        ("kex_exchange_identification: read: Connection reset by peer", "answers"),
        (UNKNOWN, "answers"),
        ("Connection timed out during banner exchange\nConnection to 10.0.0.1 port 22 timed out", "unknown"),
        ("ssh: connect to host 10.0.0.1 port 22: Network is unreachable", "unknown"),
        ("ssh: Could not resolve hostname node-1: Name or service not known", "unknown"),
        ("Bad owner or permissions on /root/.ssh/config", "unknown"),
        ("Failed to connect to the host via ssh: ", "unknown"),
    ],
)
def test_only_a_machine_whose_kernel_does_not_answer_is_silent(said: str, word: str) -> None:
    assert presence(said) == word


def test_the_login_that_came_furthest_decides() -> None:
    tried = {"a": "Permission denied (publickey).", "b": "Missing sudo password", "c": "Permission denied (publickey)."}
    assert fault_of("node-1", "10.0.0.1, port 22", tried).kind == "sudo-password"


def test_a_host_that_answers_is_told_with_its_own_words_and_a_command_to_try() -> None:
    said = "sudo: sorry, you must have a tty to run sudo"
    tried = {"ops with the site's key": "Permission denied (publickey).", "ops with your ssh keys": said}
    fault = fault_of("node-1", "10.0.0.1, port 22", tried, command="ssh -p 22 ops@10.0.0.1 sudo -n true")
    assert (fault.kind, fault.what) == ("login-failed", "node-1 answers, but login or sudo fails")
    assert said in fault.where
    assert "ssh -p 22 ops@10.0.0.1 sudo -n true" in fault.remedy


def test_every_login_is_named_with_what_ssh_said() -> None:
    tried = {
        "ops with the site's key": "Failed to connect to the host via ssh: ops@h: Permission denied (publickey).",
        "root with your ssh keys": 'Data could not be sent to remote host "h". Make sure this host can be reached over '
        "ssh: root@h: Permission denied (publickey).",
    }
    fault = fault_of("node-1", "10.0.0.1, port 2222", tried)
    assert (fault.kind, fault.what) == ("denied", "node-1 refuses every login")
    assert fault.where == (
        "10.0.0.1, port 2222; ops with the site's key: ops@h: Permission denied (publickey).; "
        "root with your ssh keys: root@h: Permission denied (publickey)."
    )
    for option in ("ssh-add", "--private-key", "-u", "-k"):
        assert option in fault.remedy


@pytest.mark.parametrize(
    ("name", "remedy"),
    [("host_keys", "access.host_keys.node-1"), ("known_hosts", "remove line 2 of ")],
)
def test_a_changed_key_is_told_with_both_fingerprints_and_the_file(tmp_path: Path, name: str, remedy: str) -> None:
    path = tmp_path / name
    path.write_text(f"# ours\n10.0.0.1 ssh-ed25519 {KEY}\n")
    said = CHANGED.format(sent=fingerprint(OTHER), path=path)
    fault = fault_of("node-1", "10.0.0.1, port 22", {"ops with the site's key": said})
    assert fault.what == "node-1 shows another ssh key than the known one"
    assert fault.where == f"10.0.0.1, port 22 shows {fingerprint(OTHER)}; {path}:2 has {fingerprint(KEY)}"
    assert remedy in fault.remedy


def test_what_is_beside_the_reason_is_left_out() -> None:
    assert words("Warning: Permanently added 'h'\nConnection closed by 10.0.0.1\n") == "Connection closed by 10.0.0.1"
