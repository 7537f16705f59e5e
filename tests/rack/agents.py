"""The ramdisks of a site without machines: for each node that Ironic waits for one calls, takes orders and calls home.

Runs beside Ironic, on its loopback: what Ironic spends is what machines cost it, but for their management controllers.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import re
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

VERSION = {"X-OpenStack-Ironic-API-Version": "1.95", "Content-Type": "application/json"}
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAA"


def steps(*names: str) -> dict[str, Any]:
    """Return steps as an agent lists them."""
    common = {"interface": "deploy", "priority": 0, "abortable": True, "reboot_requested": False}
    return {"Fake": [{"step": name, **common} for name in names]}


RESULTS: dict[str, dict[str, Any]] = {
    "deploy.get_deploy_steps": {
        "deploy_steps": steps("erase_devices_metadata"),
        "hardware_manager_version": {"fake": "1"},
    },
    "clean.get_clean_steps": {
        "clean_steps": steps("erase_devices", "erase_devices_metadata"),
        "hardware_manager_version": {"fake": "1"},
    },
    "log.collect_system_logs": {"system_logs": ""},
    "standby.get_partition_uuids": {"partitions": {}, "root uuid": "r", "efi system partition uuid": "e"},
}
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def ask(method: str, url: str, body: Any = None, *, login: str = "") -> Any:
    """Return the answer of one request. Raises OSError."""
    headers = VERSION | ({"Authorization": "Basic " + base64.b64encode(login.encode()).decode()} if login else {})
    data = json.dumps(body).encode() if body else None
    request = urllib.request.Request(url, method=method, headers=headers, data=data)  # noqa: S310  # the seed's
    with _opener.open(request, timeout=300) as answer:  # a token is given once
        said = answer.read()
    return json.loads(said) if said else {}


class Agents:
    """Every agent of the site."""

    def __init__(
        self, *, api: str, contact: str, login: str, port: int, fails: str = "", silent: Path | None = None
    ) -> None:
        """Take both addresses and our own port; a clean step of the node ``fails`` ends with an error.

        Nodes that the file ``silent`` lists, while it is there, are not heard of.
        """
        self._api, self._contact, self._login, self._fails = api, contact, login, fails
        self._silent = silent
        self._me = f"http://127.0.0.1:{port}"
        self._tokens: dict[str, str] = {}  # of agents, by node
        self._said: dict[str, list[dict[str, Any]]] = {}  # commands, by node
        self._homes: dict[str, tuple[str, str]] = {}  # name and token of the configuration drive, by node
        self._pending: dict[str, tuple[str, str]] = {}  # the same while the ramdisk runs
        self._beats: dict[str, int] = {}  # since the last order, by node

    def run(self, *, pause: float) -> None:
        """Call for every node that Ironic waits for, until the process ends."""
        with ThreadPoolExecutor(max_workers=8) as pool:
            while True:
                for state in ("wait call-back", "clean wait"):
                    url = f"{self._api}/v1/nodes?provision_state={state.replace(' ', '%20')}&fields=uuid"
                    try:
                        found = ask("GET", url, login=self._login)["nodes"]
                    except (OSError, ValueError):
                        found = []  # Ironic starts again
                    silent = self._silent.read_text().split() if self._silent and self._silent.exists() else ()
                    list(pool.map(self._beat, [node["uuid"] for node in found if node["uuid"] not in silent]))
                list(pool.map(self._call_home, list(self._homes)))
                time.sleep(pause)

    def _beat(self, node: str) -> None:
        self._beats[node] = self._beats.get(node, 0) + 1
        try:
            if node not in self._tokens or self._beats[node] % 4 == 0:  # unheard: it may have been booted anew
                found = ask("GET", f"{self._api}/v1/lookup?node_uuid={node}")["config"]["agent_token"]
                if set(found) != {"*"}:  # given once
                    self._tokens[node] = found
                    self._said.pop(node, None)
            beat = {"callback_url": f"{self._me}/{node}", "agent_version": "13.0.0", "agent_token": self._tokens[node]}
            ask("POST", f"{self._api}/v1/heartbeat/{node}", beat)
        except (OSError, KeyError):
            pass  # Ironic starts again, or has another use for the node by now

    def _call_home(self, node: str) -> None:
        name, token = self._homes[node]
        try:
            body = {"name": name, "token": token, "host_keys": [KEY]}
            ask("POST", f"{self._contact}/v1/phone-home", body)
        except urllib.error.HTTPError as error:
            if error.code >= 500:
                return
        except OSError:
            return
        self._homes.pop(node, None)

    def command(self, node: str, order: dict[str, Any]) -> dict[str, Any]:
        """Return what an agent answers to an order, which is done at once."""
        name, parameters = str(order["name"]), dict(order.get("params") or {})
        self._beats[node] = 0
        step = parameters.get("step") or {}
        if drive := (step.get("args") or {}).get("configdrive"):
            self._homes_of(node, str(drive))
        failed = node == self._fails and name == "clean.execute_clean_step"
        result: dict[str, Any] = {
            "id": str(time.time_ns()), "command_name": name.partition(".")[2], "command_params": {},
            "command_status": "FAILED" if failed else "SUCCEEDED",
            "command_error": {"type": "CleaningError", "message": "a disk refuses"} if failed else None,
            "command_result": RESULTS.get(name, {"result": "done"}),
        }  # fmt: skip
        if step:
            kind = name.partition(".")[0]
            result["command_result"] = {f"{kind}_result": None, f"{kind}_step": step}
        self._said.setdefault(node, []).append(result)
        if name == "standby.sync" and node in self._pending:
            self._homes[node] = self._pending.pop(node)  # it runs on, with its token, until it is switched off
        return result

    def _homes_of(self, node: str, drive: str) -> None:
        text = gzip.decompress(base64.b64decode(drive)).decode("latin-1")
        token = re.search(r'"token": ?"([^"]+)"', text)
        name = re.search(r'"name": ?"([^"]+)"', text)
        assert token, "a configuration drive of ours"
        assert name, "a configuration drive of ours"
        self._pending[node] = (name[1], token[1])

    def said(self, node: str) -> list[dict[str, Any]]:
        """Return every order of a node."""
        return self._said.get(node, [])


def serve(agents: Agents, port: int) -> None:
    """Hear orders, in threads of their own."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # head and body are two writes: the second waited 40 ms for an acknowledgement

        def do_GET(self) -> None:
            self._answer({"commands": agents.said(self._node())})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self._answer(agents.command(self._node(), body))

        def log_message(self, *_: Any) -> None:
            pass

        def _node(self) -> str:
            return self.path.split("/")[1]

        def _answer(self, answer: dict[str, Any]) -> None:
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    class Server(ThreadingHTTPServer):
        request_queue_size = 256

    threading.Thread(target=Server(("127.0.0.1", port), Handler).serve_forever, daemon=True).start()


def main() -> None:
    """Run until the process ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("api", "contact", "login"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--port", type=int, default=9999)
    parser.add_argument("--fails", default="")
    parser.add_argument("--silent", type=Path)
    given = parser.parse_args()
    agents = Agents(**vars(given))
    serve(agents, given.port)
    agents.run(pause=1.0)


if __name__ == "__main__":
    main()
