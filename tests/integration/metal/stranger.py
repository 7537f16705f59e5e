"""Somebody on a seed's network, who knows no password."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import requests
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.api import Ironic
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.documents import node_id
from ansible_collections.groundup.cloud.tests.integration.metal.fake import FakeSeed
from ansible_collections.groundup.cloud.tests.integration.metal.ironic import PASSWORD, WANTED

API, MEDIA, BOOT = WANTED["api_url"], WANTED["media_url"], WANTED["boot_url"]
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAA"
MEMORY = 700 * 2**10  # KiB that Ironic may ever take here; it loads with 200 MiB


class Stranger:
    """Somebody on the seed's network, who knows no password."""

    def __init__(self, seed: FakeSeed) -> None:
        """Begin without anything; keep a client of the controller's beside."""
        self.seed = seed
        self.ironic = Ironic(api=API, media=MEDIA, password=PASSWORD, ca=seed.ca)

    def ask(self, method: str, url: str, *, address: str = "10.0.2.7", **more: Any) -> int:
        """Return the status of one request from ``address``."""
        return self.seed.inside(lambda: self._ask(method, url, address, **more)).status_code

    def all_at_once(self, asked: list[Callable[[], requests.Response]]) -> list[int]:
        """Return the status of each of many requests."""

        def work() -> list[int]:
            with ThreadPoolExecutor(len(asked)) as pool:
                return [one.result().status_code for one in [pool.submit(ask) for ask in asked]]

        return self.seed.inside(work)

    def _ask(self, method: str, url: str, address: str, **more: Any) -> requests.Response:
        with requests.Session() as session:
            session.trust_env = False
            session.mount("https://", From(address))
            given = {"X-OpenStack-Ironic-API-Version": "1.95", **more.pop("headers", {})}
            return session.request(method, url, headers=given, verify=False, timeout=120, **more)

    def tell(self, body: dict[str, Any], *, query: str = "", **more: Any) -> int:
        """Tell the seed what a machine is, as its ramdisk does."""
        said = {"inventory": body["inventory"], **body["plugin_data"]}
        return self.ask("POST", f"{API}/v1/continue_inspection{query}", json=said, **more)

    def node(self, name: str) -> dict[str, Any]:
        """Return a node as the controller sees it."""
        return self.seed.inside(lambda: self.ironic.node(name)) or {}

    def makes(self, name: str, mac: str, **more: Any) -> None:
        """Have the site enrol a machine."""
        node = {
            "uuid": node_id("hostile", name), "name": name, "driver": "fake-hardware", "extra": {}, "properties": {},
            **more,
        }  # fmt: skip
        self.seed.inside(lambda: self.ironic.create(node, mac=mac))

    def memory(self) -> int:
        """Return the most memory that Ironic ever had, in KiB."""
        found = self.seed.host.run("pgrep", "-f", "^ironic:|--config-file /etc/ironic/ironic.conf").stdout.split()
        texts = [self.seed.host.run("cat", f"/proc/{pid}/status").stdout for pid in found]
        return max(int(text.partition("VmHWM:")[2].split()[0]) for text in texts if "VmHWM:" in text)


class From(requests.adapters.HTTPAdapter):
    """Ask from an address of one's own."""

    def __init__(self, address: str) -> None:
        """Take the address."""
        self._address = address
        super().__init__()

    def init_poolmanager(self, *given: Any, **more: Any) -> None:
        """Have connections begin at it."""
        super().init_poolmanager(*given, **more, source_address=(self._address, 0))


def forget(stranger: Stranger, before: set[str]) -> str:
    """Delete what was enrolled since ``before``; return why some are left."""
    for node in set(stranger.seed.inside(stranger.ironic.nodes)) - before:
        try:
            stranger.seed.inside(partial(stranger.ironic.hold, node, on=True))
            stranger.seed.inside(partial(stranger.ironic.delete, node))
        except GroundupError as error:
            return str(error)
    return ""
