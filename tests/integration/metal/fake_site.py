"""A site of machines that are none: a seed whose Ironic and page answer, and agents that say what ramdisks say."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.plugins.module_utils._ironic import configuration
from ansible_collections.groundup.cloud.plugins.plugin_utils import supply
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal import confirm, controller, documents, install, way
from ansible_collections.groundup.cloud.plugins.plugin_utils.metal.way import DISCOVERED
from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION, state_dir
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import Plan, load_site, make_plan
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import MetalPlan
from ansible_collections.groundup.cloud.plugins.plugin_utils.supply.publish.digests import PublishedDigests, save
from ansible_collections.groundup.cloud.plugins.plugin_utils.vault import open_store
from ansible_collections.groundup.cloud.tests.integration.host_root import HostRoot, host_root
from ansible_collections.groundup.cloud.tests.integration.metal import fake
from ansible_collections.groundup.cloud.tests.integration.metal import ironic as seed
from ansible_collections.groundup.cloud.tests.unit import tls

SITE = """\
plugin: groundup.cloud.site
site: bench-machines
domain: bench.test
profile: region
networks:
  management: {cidr: 10.0.0.0/16}
  oob: {cidr: 10.1.0.0/16}
machines:
  seed: {count: 1, rack: r1, machines: {seed-1: {address: 10.0.2.2}}}
  control: {count: 3, racks: [r1, r2, r3], provisioner: existing}
  worker:
    count: %(count)s
    racks: [r1, r2, r3, r4, r5]
    bmc: {protocol: redfish-virtual-media}
    machines:
%(machines)s
kubernetes: {version: 1.36.3, cni: flannel, pod_cidr: 10.240.0.0/12}
storage: {backend: external}
supply: {source: build}
"""


@contextmanager
def fake_site(room: Path, count: int, more: str = "") -> Iterator[tuple[HostRoot, Plan]]:
    """Give a seed whose Ironic and agents answer, and the plan of ``count`` machines that are none.

    ``more`` is added to the site file. Nodes that the file ``silent`` in ``room`` lists are not heard of.
    """
    numbers = range(1, count + 1)
    lines = [f'      worker-{n}: {{mac: "52:54:01:00:{n >> 8:02x}:{n & 255:02x}"}}' for n in numbers]
    (room / "site.yml").write_text(SITE % {"count": count, "machines": "\n".join(lines)} + more)
    (room / "password").write_text("of this benchmark")
    os.environ |= {"GROUNDUP_STATE": str(room / "state"), "ANSIBLE_VAULT_PASSWORD_FILE": str(room / "password")}
    plan = make_plan(load_site(room / "site.yml"))
    own = tls.pair(address=seed.SEED)
    _state(plan, ca=own.certificate)
    with host_root(room / "root", f"{seed.SEED}/24") as host:
        _seed(host, plan, room, own)
        seed.start(host)
        fake._page(host)
        agents = _agents(host, plan, silent=room / "silent")
        try:
            yield host, plan
        finally:
            agents.kill()


def _seed(host: HostRoot, plan: Plan, room: Path, own: tls.Pair) -> None:
    """Install Ironic as a seed has it, with a driver for machines that are none."""
    for name in ("vmlinuz", "initramfs", "esp.img", "machine.qcow2"):
        (room / "empty").mkdir(exist_ok=True)
        (room / "empty" / name).write_text("nothing")
    found = {name: artifact.path for name, artifact in supply.ensure(["ironic-13"]).items() if name == "ironic-13"}
    seed._netboot = lambda *_: None  # nothing boots here
    seed._install(host, found | dict.fromkeys(("deploy-ramdisk-13", "machine-13"), room / "empty"), own)
    image = host.at(configuration.MEDIA) / (plan.metal.image if plan.metal else "")
    image.parent.mkdir(parents=True)
    image.write_text("nothing")
    conf = host.at(configuration.CONF)
    text = conf.read_text().replace(
        "enabled_hardware_types = redfish", "enabled_hardware_types = redfish,fake-hardware"
    )
    for kind in ("boot", "management", "power"):
        text = text.replace(f"enabled_{kind}_interfaces = ", f"enabled_{kind}_interfaces = fake,")
    conf.write_text(text)
    # Ironic's fake machines cannot boot from a disk, real ones do.
    (driver,) = host.at(configuration.PROGRAMS).glob(
        "current/lib/python3*/site-packages/ironic/drivers/modules/fake.py"
    )
    known = "return [boot_devices.PXE"
    driver.write_text(driver.read_text().replace(f"{known}]", f"{known}, boot_devices.DISK]"))
    for compiled in driver.parent.glob("__pycache__/fake.*"):
        compiled.unlink()  # the environment's are not compared with their sources


def metal_of(plan: Plan) -> MetalPlan:
    if plan.metal is None:
        sys.exit("the site of this benchmark has no seed")
    return plan.metal


def _agents(host: HostRoot, plan: Plan, *, silent: Path) -> subprocess.Popen[bytes]:
    metal = metal_of(plan)
    inside = {"api": metal.api_inside, "contact": metal.contact_inside}
    more = [word for name, port in inside.items() for word in (f"--{name}", f"http://127.0.0.1:{port}")]
    log = host.at("/tmp/agents.log").open("wb")  # noqa: S108  # of the seed
    argv = [sys.executable, str(COLLECTION / "tests/rack/agents.py"), *more, "--login", f"groundup:{seed.PASSWORD}"]
    argv += ["--silent", str(silent)]
    return subprocess.Popen(host.argv(*argv, outside=True), stdout=log, stderr=log)


def _state(plan: Plan, *, ca: str) -> None:
    store = open_store(plan.site, write=True)
    store.ensure(["bmc/default", "ironic/groundup"])
    seed.PASSWORD = store.get("ironic/groundup")
    state = state_dir(plan.site)
    (state / "ssh").mkdir(parents=True)
    (state / "ssh/id_ed25519.pub").write_text("ssh-ed25519 SITE\n")
    (state / "ca.crt").write_text(ca)
    save(plan.site, PublishedDigests(files={metal_of(plan).image: "0" * 64}))


def without_machines(plan: Plan) -> Plan:
    """Have our code enrol nodes of fake hardware; return the plan with the one server that gives the image here."""
    node = documents.node

    def fake(*arguments: Any, **more: Any) -> dict[str, Any]:
        made = node(*arguments, **more)
        # No ramdisk inspects what is none.
        return made | {
            "driver": "fake-hardware",
            "boot_interface": "fake",
            "driver_info": {"deploy_forces_oob_reboot": True},
            "extra": made["extra"] | {DISCOVERED: True},
        }

    documents.node = fake
    install._judged = lambda *_: None
    own = {
        host.bmc["address"]: controller.Controller(macs=frozenset(port.mac for port in host.interfaces if port.mac))
        for host in plan.hosts.values()
        if host.bmc
    }
    # Nor has it a controller.
    controller.asked = lambda _ironic, bmc, *_, **__: own[bmc["address"]]
    confirm.asked = controller.asked  # type: ignore[attr-defined]
    way.HOLDS = math.inf
    metal = metal_of(plan)
    return replace(plan, metal=replace(metal, files_url=metal.media_url))
