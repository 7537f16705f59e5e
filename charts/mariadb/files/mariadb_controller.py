#!/usr/bin/env python3
"""Keeps exactly one ready Galera member labelled as the writer, and stays with it while it is ready.

Service `mariadb` selects that label. The label is on a pod, never in the Service, so that what Helm manages stays as
Helm left it.

NAMESPACE, SELECTOR and WRITER_LABEL say where to look. Standard library only: it runs in the database's own image.
"""

from __future__ import annotations

import json
import os
import ssl
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
PAUSE = 3  # seconds between looks


def is_ready(pod: dict[str, Any]) -> bool:
    """Return whether ``pod`` is ready and not on its way out."""
    if "deletionTimestamp" in pod["metadata"]:
        return False
    conditions = pod.get("status", {}).get("conditions", [])
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)


def choose(pods: list[dict[str, Any]], label: str) -> tuple[str | None, list[str]]:
    """Return the pod to be the writer, and the pods that wear ``label`` wrongly.

    The present writer stays as long as it is ready; else the ready pod with the lowest name follows. With none ready
    the label stays where it is.
    """
    by_name = sorted(pods, key=lambda pod: str(pod["metadata"]["name"]))
    labelled = [pod for pod in by_name if pod["metadata"].get("labels", {}).get(label) == "true"]
    ready = [pod for pod in by_name if is_ready(pod)]
    best = next((pod for pod in labelled if pod in ready), ready[0] if ready else None)
    if best is None:
        return None, []
    name = str(best["metadata"]["name"])
    return name, [str(pod["metadata"]["name"]) for pod in labelled if pod["metadata"]["name"] != name]


class Api:
    """The two calls to Kubernetes that are needed."""

    def __init__(self) -> None:
        host = os.environ["KUBERNETES_SERVICE_HOST"]
        host = f"[{host}]" if ":" in host else host
        self.url = (
            f"https://{host}:{os.environ['KUBERNETES_SERVICE_PORT']}/api/v1/namespaces/{os.environ['NAMESPACE']}/pods"
        )
        self.trust = ssl.create_default_context(cafile=str(ACCOUNT / "ca.crt"))

    def call(self, method: str, tail: str, body: dict[str, Any] | None = None) -> Any:
        """Return the answer to one request below the namespace's pods."""
        request = urllib.request.Request(  # noqa: S310 - always https
            self.url + tail,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {(ACCOUNT / 'token').read_text()}",
                "Content-Type": "application/merge-patch+json",
            },
        )
        with urllib.request.urlopen(request, context=self.trust, timeout=20) as answer:  # noqa: S310
            return json.load(answer)


def main() -> None:
    """Look, put right, pause, for ever."""
    api, label = Api(), os.environ["WRITER_LABEL"]
    selector = urllib.parse.quote(os.environ["SELECTOR"])
    current: str | None = None
    while True:
        try:
            pods = api.call("GET", f"?labelSelector={selector}")["items"]
            writer, wrong = choose(pods, label)
            # First the old one goes: for a moment there is none, but never two.
            for name in wrong:
                api.call("PATCH", f"/{name}", {"metadata": {"labels": {label: None}}})
            if writer is not None:
                worn = next(pod for pod in pods if pod["metadata"]["name"] == writer)["metadata"].get("labels", {})
                if worn.get(label) != "true":
                    api.call("PATCH", f"/{writer}", {"metadata": {"labels": {label: "true"}}})
            if writer != current:
                print(f"writer: {writer or 'none is ready'}", flush=True)
                current = writer
        except OSError as error:
            print(f"the Kubernetes API does not answer: {error}", flush=True)
        time.sleep(PAUSE)


if __name__ == "__main__":
    main()
