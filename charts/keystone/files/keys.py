#!/usr/bin/env python3
"""Makes and rotates Keystone's key repositories, which are kept in Secrets.

Usage: keys.py setup|rotate SECRET

A repository holds keys named by number: 0 is the next one, the highest signs, the others still verify. This is the same
thing `keystone-manage fernet_setup` and `fernet_rotate` do to files; done here with the standard library alone, a job
costs a tenth of a second instead of the start of all of Keystone.

Scope: the Secret, and for credentials the re-encryption. A rotation drops the oldest key, and what was stored with it:
so none begins before everything stored is encrypted with the newest key there is, also when the run before was cut
short. Runs in a pod whose service account may get and patch the Secret.
"""

from __future__ import annotations

import base64
import json
import os
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
CREDENTIAL_KEYS = 3  # what Keystone itself keeps for credentials; not configurable there
CONFLICT = 409
MOUNT_WAIT = 300.0  # seconds for the kubelet to bring a changed Secret into a running pod; it takes about one minute


def new_key() -> str:
    """Return a Fernet key: 32 random bytes in URL-safe base64."""
    return base64.urlsafe_b64encode(os.urandom(32)).decode("ascii")


def setup(keys: dict[int, str]) -> dict[int, str]:
    """Return a first repository: a key to sign with and the next one. A repository that has keys stays as it is."""
    return keys or {0: new_key(), 1: new_key()}


def rotate(keys: dict[int, str], *, keep: int) -> dict[int, str]:
    """Return the repository after one rotation: the next key signs, a new next one is staged, the oldest go.

    ``keep`` is the number of keys that remain, the staged one included.
    """
    if 0 not in keys:
        raise SystemExit("the repository has no staged key (0): run setup first")
    rotated = {**keys, max(keys) + 1: keys[0], 0: new_key()}
    used = sorted(number for number in rotated if number)
    for number in used[: max(0, len(used) - (keep - 1))]:
        del rotated[number]
    return rotated


def call(method: str, secret: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """Ask the Kubernetes API about ``secret`` and return its answer."""
    host = os.environ["KUBERNETES_SERVICE_HOST"]
    url = f"https://{f'[{host}]' if ':' in host else host}:{os.environ['KUBERNETES_SERVICE_PORT']}"
    request = urllib.request.Request(  # noqa: S310 - always https
        f"{url}/api/v1/namespaces/{os.environ['NAMESPACE']}/secrets/{secret}",
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {(ACCOUNT / 'token').read_text()}",
            "Content-Type": "application/merge-patch+json",
        },
    )
    trust = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))
    with urllib.request.urlopen(request, context=trust, timeout=30) as answer:  # noqa: S310  # always https
        return dict(json.load(answer))


def keys_in(secret: dict[str, Any]) -> dict[int, str]:
    """Return the repository in an answer of the API."""
    return {int(name): base64.b64decode(value).decode() for name, value in (secret.get("data") or {}).items()}


def change(secret: str, verb: str) -> bool:
    """Set up or rotate ``secret`` and return whether anything changed. Another writer's change is not lost."""
    while True:
        found = call("GET", secret)
        old = keys_in(found)
        keep = CREDENTIAL_KEYS if "credential" in secret else int(os.environ.get("MAX_ACTIVE_KEYS", "3"))
        new = setup(old) if verb == "setup" else rotate(old, keep=keep)
        if new == old:
            return False
        data: dict[str, str | None] = {str(number): None for number in old.keys() - new.keys()}
        data |= {str(number): base64.b64encode(key.encode()).decode() for number, key in new.items()}
        try:
            call("PATCH", secret, {"metadata": {"resourceVersion": found["metadata"]["resourceVersion"]}, "data": data})
        except urllib.error.HTTPError as error:
            if error.code != CONFLICT:
                raise
            continue
        return True


def mounted(repository: Path) -> dict[int, str]:
    """Return the keys as this pod sees them, which is what keystone-manage works with."""
    return {int(file.name): file.read_text() for file in repository.glob("[0-9]*")}


def migrate(secret: str, repository: Path) -> None:
    """Encrypt all stored credentials with the newest key of ``secret``. Ends the program when that cannot be done."""
    end = time.monotonic() + MOUNT_WAIT
    # With the keys of before the last rotation keystone-manage would change nothing, and end well.
    while not (seen := mounted(repository)) or seen != keys_in(call("GET", secret)):
        if time.monotonic() > end:
            raise SystemExit(f"{repository} does not show the keys of {secret}, {MOUNT_WAIT:.0f} s after they changed")
        time.sleep(1)
    subprocess.run(["keystone-manage", "credential_migrate"], check=True)


def main() -> None:
    """Do what the command line says."""
    verb, secret = sys.argv[1:]
    if verb not in ("setup", "rotate"):
        raise SystemExit(f"usage: {sys.argv[0]} setup|rotate SECRET")
    credentials = verb == "rotate" and "credential" in secret
    if credentials:
        migrate(secret, Path(os.environ["KEY_REPOSITORY"]))
    print(f"{secret}: {verb}: {'changed' if change(secret, verb) else 'keys are there already'}", flush=True)
    if credentials:
        wait = float(os.environ.get("MIGRATE_WAIT", "120"))
        print(
            f"waiting {wait:.0f} s until every pod sees the new key, then encrypting stored credentials with it",
            flush=True,
        )
        time.sleep(wait)
        migrate(secret, Path(os.environ["KEY_REPOSITORY"]))


if __name__ == "__main__":
    main()
