"""The runner on the seed: account, programs, the site's public files, its own key and password, unit."""

from __future__ import annotations

import base64
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._base import files
from .._base.changes import Changes
from .._base.errors import GroundupError
from .._base.run import run
from .._host import accounts, environment, units
from . import configuration as own
from .passwords import line_of
from .sandbox import unprivileged

ACCOUNT = "groundup-runner"
USER = "runner"  # of `groundup-contact`
PROGRAMS = Path("/opt/groundup/runner")
COLLECTIONS = PROGRAMS / "collections"
COLLECTION = PROGRAMS / "collection"  # symlink to the one in use
CONFIGURATION = Path("/etc") / ACCOUNT
SITE_FILE, PUBLIC = CONFIGURATION / "site.yml", CONFIGURATION / "public"
# Only root reads them; systemd passes them to the service.
PASSWORD, KEY = CONFIGURATION / "password", CONFIGURATION / "id_ed25519"
STATE = Path("/var/lib") / ACCOUNT
UNIT = Path(f"/etc/systemd/system/{ACCOUNT}.service")
MODULE = "ansible_collections.groundup.cloud.plugins.plugin_utils.metal.seed_runner"
_IMPORTS = "import ansible, ansible_runner, pydantic, requests"

UNIT_TEXT = """\
[Unit]
Description=Runs layers on machines that called home
Wants=network-online.target
After=network-online.target groundup-contact.service nginx.service

[Service]
User=%(account)s
Group=%(account)s
WorkingDirectory=%(state)s
Environment=HOME=%(state)s GROUNDUP_STATE=%(state)s
Environment=PATH=%(environment)s/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
Environment=PYTHONPATH=%(collection)s ANSIBLE_COLLECTIONS_PATH=%(collection)s
Environment=ANSIBLE_CONFIG=%(collection)s/ansible_collections/groundup/cloud/ansible.cfg
LoadCredential=password:%(password)s
LoadCredential=key:%(key)s
ExecStart=%(environment)s/bin/python -m %(module)s --site-file %(site_file)s --public %(public)s --contact %(contact_url)s --ca %(public)s/ca.crt --password %%d/password --key %%d/key
Restart=always
RestartSec=5
# What it started ends with it, and is started again.
KillMode=control-group
TimeoutStopSec=30
StateDirectory=%(account)s
StateDirectoryMode=0700
UMask=0077
Nice=10
%(sandbox)s
[Install]
WantedBy=multi-user.target
"""  # noqa: E501  # one command


def unit_text(contact_url: str) -> str:
    found = {
        "account": ACCOUNT, "state": STATE, "environment": PROGRAMS / environment.CURRENT, "collection": COLLECTION,
        "password": PASSWORD, "key": KEY, "module": MODULE, "site_file": SITE_FILE, "public": PUBLIC,
        "contact_url": contact_url,
        "sandbox": unprivileged("AF_INET", "AF_INET6", "AF_NETLINK", "AF_UNIX"),
    }  # fmt: skip
    return files.HEADER + UNIT_TEXT % found


def lacks(digest: str) -> bool:
    """Return whether the seed lacks the collection of ``digest``."""
    return not _place_of(digest).is_dir()


def converge(changes: Changes, wanted: Mapping[str, Any]) -> str:
    """Start the runner; return its public key, "" in a dry run before it is there. Raises GroundupError, OSError."""
    group = accounts.ensure(changes, ACCOUNT, home=str(STATE), login="/usr/sbin/nologin")
    name, is_current = environment.place(
        changes, release=wanted["release"], url=wanted["environment_url"], sha256=None,
        ca=wanted["public"]["ca.crt"], root=PROGRAMS, imports=_IMPORTS,
    )  # fmt: skip
    home, place, unit = PROGRAMS / environment.CURRENT, _place_of(wanted["collection"]), units.Unit(changes, UNIT.name)
    if not is_current or not COLLECTION.is_symlink() or str(COLLECTION.readlink()) != str(place):
        unit.replaced()
        if not changes.check:
            unit.mark()
    if not is_current:
        environment.switch(changes, name, root=PROGRAMS)
    if not place.is_dir() and changes.add(f"place {place}"):
        _unpack(base64.b64decode(wanted["content"]), place, python=home / "bin/python")
    files.link(changes, COLLECTION, str(place))
    for path, text in wanted["public"].items():
        unit.place(PUBLIC / path, text)
    for path, text in wanted["site_files"].items():
        unit.place(CONFIGURATION / path, text)
    for path in sorted(CONFIGURATION.rglob("*.pem")):
        if str(path.relative_to(CONFIGURATION)) not in wanted["site_files"]:
            files.remove(changes, path, before=unit.mark)
            unit.replaced()
    files.place(changes, SITE_FILE, wanted["site_text"], mode=0o640, group=group)  # read on change, without a restart
    unit.place(UNIT, unit_text(wanted["contact_url"]))
    _own(changes)
    if changes.check and not (home.exists() and KEY.exists()):
        changes.add(f"start {UNIT.name}")
        return ""
    key = run(["ssh-keygen", "-y", "-f", str(KEY)]).strip()
    unit.place(PUBLIC / "ssh/runner.pub", f"{key}\n")  # the host layer lets it in
    password = PASSWORD.read_text(encoding="utf-8").strip()
    line = line_of(own.PROGRAMS / environment.CURRENT, USER, own.RUNNER_PASSWORDS, password)
    reader = accounts.group_id("ironic")
    files.place(changes, own.RUNNER_PASSWORDS, line, mode=0o640, group=reader, secret=True)
    unit.running()
    for former in COLLECTIONS.iterdir():
        if former != place and changes.add(f"remove {former}"):
            shutil.rmtree(former)
    return key


def serves() -> None:
    """Raise GroundupError when the runner is not running."""
    if not units.Unit(Changes(check=True), UNIT.name).active:
        raise GroundupError(
            f"{UNIT.name} does not run",
            where=str(UNIT),
            why="machines that call home are not configured",
            remedy=f"journalctl -n 50 -u {UNIT.name}",
        )


def absent(changes: Changes) -> None:
    """Stop the runner, and remove its key and password. Raises OSError."""
    if UNIT.exists():
        units.off(changes, [UNIT.name])
    for path in (own.RUNNER_PASSWORDS, CONFIGURATION, UNIT):
        if path.is_dir() and changes.add(f"remove {path}"):
            shutil.rmtree(path)
        elif path.is_file() and changes.add(f"remove {path}"):
            path.unlink()


def _place_of(digest: str) -> Path:
    return COLLECTIONS / digest[:12]


def _unpack(archive: bytes, place: Path, *, python: Path) -> None:
    part = place.with_name(f".{place.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(mode=0o755, parents=True)
    packed = part / "collection.tar.gz"
    packed.write_bytes(archive)
    run(["tar", "--extract", "--gzip", "--no-same-owner", "--file", str(packed), "--directory", str(part)])
    packed.unlink()
    run([str(python), "-m", "compileall", "-q", str(part)], timeout=300)  # the service cannot write there
    part.rename(place)


def _own(changes: Changes) -> None:
    """Generate password and key. They never leave the seed: the controller does not have them either."""
    if not PASSWORD.exists() and changes.add(f"make {PASSWORD}"):
        files.write_new(PASSWORD, secrets.token_urlsafe(32).encode(), mode=0o600)
    if not KEY.exists() and changes.add(f"make {KEY}"):
        new = KEY.with_name("new")
        for path in (new, new.with_suffix(".pub")):
            path.unlink(missing_ok=True)
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", ACCOUNT, "-f", str(new)])
        new.with_suffix(".pub").unlink()
        new.rename(KEY)
