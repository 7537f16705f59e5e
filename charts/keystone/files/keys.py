#!/usr/bin/env python3
"""Makes and rotates Keystone's key repositories, which are kept in Secrets.

Usage: keys.py setup|rotate SECRET

A repository holds keys named by number: 0 is the next one, the highest signs, the others still verify. This is the same
thing `keystone-manage fernet_setup` and `fernet_rotate` do to files; done here with the standard library alone, a job
costs a tenth of a second instead of the start of all of Keystone.

Scope: the Secret, and for credentials the re-encryption that has to follow. Runs in a pod whose service account may get
and patch the Secret.
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
    with urllib.request.urlopen(request, context=trust, timeout=30) as answer:  # noqa: S310
        return dict(json.load(answer))


def change(secret: str, verb: str) -> bool:
    """Set up or rotate ``secret`` and return whether anything changed. Another writer's change is not lost."""
    while True:
        found = call("GET", secret)
        old = {int(name): base64.b64decode(value).decode() for name, value in (found.get("data") or {}).items()}
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


def main() -> None:
    """Do what the command line says."""
    verb, secret = sys.argv[1:]
    if verb not in ("setup", "rotate"):
        raise SystemExit(f"usage: {sys.argv[0]} setup|rotate SECRET")
    print(f"{secret}: {verb}: {'changed' if change(secret, verb) else 'keys are there already'}", flush=True)
    if verb == "rotate" and "credential" in secret:
        wait = float(os.environ.get("MIGRATE_WAIT", "120"))
        print(
            f"waiting {wait:.0f} s until every pod sees the new key, then encrypting stored credentials with it",
            flush=True,
        )
        time.sleep(wait)
        subprocess.run(["keystone-manage", "credential_migrate"], check=True)


if __name__ == "__main__":
    main()
