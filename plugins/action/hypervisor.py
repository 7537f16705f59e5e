"""Action of module groundup.cloud.hypervisor: merge the releases' configuration with that of the host."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ..module_utils._hypervisor.disks import KEYRING
from ..plugin_utils.actions import StepAction
from ..plugin_utils.errors import GroundupError
from ..plugin_utils.hosts import spared
from ..plugin_utils.hypervisor import configuration
from ..plugin_utils.hypervisor.chassis import chassis, next_of, tunnel_address
from ..plugin_utils.hypervisor.cluster import read_cluster, refuse_ahead
from ..plugin_utils.hypervisor.configuration import NotYetError
from ..plugin_utils.hypervisor.peers import peers
from ..plugin_utils.kube.access import kubeconfig_path
from ..plugin_utils.kube.client import Api
from ..plugin_utils.services import ceph
from ..plugin_utils.supply.publish import digests

FORESEEN = "# Known when the releases are there.\n"


class ActionModule(StepAction):
    """Run the step on the host with its configuration; a host that fails is set aside."""

    def work(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the step's result, or that of setting the host aside."""
        if given["step"] in ("leave", "look", "reconnect"):
            return super().work(given)
        step = partial(super().work, given)
        steps = given["step"] == "stage" or given["release_step"]  # to another release: a host that fails ends the run
        spare = not self.changes.check and not steps
        return spared(lambda: self._told(given, step), self.variables, layer="hypervisor", spare=spare)

    def _told(self, given: dict[str, Any], step: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Run ``step`` once ``given`` has what the plan and the cluster say of the host."""
        variables = self.variables
        if given["step"] == "stage":
            try:
                given["environments"] = self._environments(variables["groundup_site"], variables)
            except GroundupError as error:
                return {"failed": True, "msg": str(error)}
            return step()
        given["underlay"] = underlay(variables)
        if given["step"] == "converge":
            site, host = variables["groundup_site"], variables["groundup_host"]
            found = chassis(site, host)
            try:
                given |= {
                    "chassis": found.options(),
                    "peers": peers(host["name"], addresses(variables), key=str(given["ssh_key"])),
                    "environments": self._environments(site, variables),
                    "volume_key": volume_key(site),
                    "disks": disks(site, host),
                    "compute_id": configuration.compute_id(site["site"], host["name"]),
                    "configuration": self._configuration(site, host, variables, steps=given["release_step"]),
                }
            except GroundupError as error:
                return {"failed": True, "msg": str(error)}
        return step()

    def _environments(self, site: dict[str, Any], variables: dict[str, Any]) -> dict[str, dict[str, str | None]]:
        """Return each environment with its published digest; None means that the server's own digest is used."""
        seed = site["supply"]["seed"]
        record = digests.of_dry_run(variables, seed=seed) or digests.required(
            site["site"], seed=seed, dry_run=self.changes.check
        )
        known = dict(record.files)
        return {
            release: {"path": path, "sha256": known.get(path)}
            for release, path in site["hypervisor"]["environments"].items()
        }

    def _configuration(
        self, site: dict[str, Any], host: dict[str, Any], variables: dict[str, Any], *, steps: bool
    ) -> dict[str, dict[str, str]]:
        kubeconfig = kubeconfig_path(site["site"])
        foreseen = {kind: {"cluster": FORESEEN, "host": FORESEEN} for kind in ("nova", "agent", "sriov")}
        if self.changes.check and not kubeconfig.is_file():  # the cluster does not exist yet
            return foreseen
        hosts, api, namespace = variables["hostvars"], Api(kubeconfig), site["openstack"]["namespace"]
        release, also = site["openstack"]["release"], () if steps else site["openstack"]["upgrading"]
        refuse_ahead(api, namespace=namespace, release=release, host=host["name"], steps=steps, also=also)
        cards = site["hypervisor"]["sriov"].get(host["hardware"], ())
        try:
            cluster = read_cluster(
                api,
                namespace=namespace,
                nodes=[hosts[name]["groundup_host"]["address"] for name in variables["groups"]["control"]],
                with_agents=bool(cards),
                auth_url=next((one["url"] for one in site["edge"]["endpoints"] if one["service"] == "keystone"), ""),
            )
        except NotYetError:
            if self.changes.check:  # the releases do not exist yet either
                return foreseen
            raise
        own = configuration.Host(
            cards=cards,
            name=host["name"],
            address=host["address"],
            compute=site["hypervisor"]["compute"][host["hardware"]],
            southbound=tuple(site["hypervisor"]["southbound"]),
        )
        found = {
            "nova": {"cluster": cluster.nova, "host": configuration.nova_host(cluster, own)},
            "agent": {"cluster": cluster.agent, "host": configuration.agent_host(own)},
        }
        return {**found, "sriov": {"cluster": cluster.agents, "host": configuration.sriov_host(cluster, own)}}


def volume_key(site: Mapping[str, Any]) -> dict[str, str]:
    """Return the Ceph client for volumes and the id of libvirt's secret with its key; empty without Ceph."""
    client = site["hypervisor"]["volumes"]
    return {"client": client["name"], "uuid": client["uuid"]} if client else {}


def disks(site: Mapping[str, Any], host: Mapping[str, Any]) -> dict[str, str]:
    """Return client, secret id and configuration for instances' disks in Ceph; empty if disks are files on the host."""
    client = site["hypervisor"]["disks"]
    if not client or site["hypervisor"]["compute"][host["hardware"]]["disks"] != "ceph":
        return {}
    conf = ceph.conf(fsid=site["ceph"]["fsid"], mon_host=site["ceph"]["mon_host"], keyring=KEYRING)
    return {"client": client["name"], "uuid": client["uuid"], "conf": conf}


def addresses(variables: Mapping[str, Any]) -> dict[str, str]:
    """Return the address of every hypervisor, including unreachable ones."""
    return {name: variables["hostvars"][name]["groundup_host"]["address"] for name in variables["groups"]["compute"]}


def underlay(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return source, target and MTU of the host's full-size packet; empty for the only hypervisor."""
    site, host, groups = variables["groundup_site"], variables["groundup_host"], variables["groups"]
    name = next_of(host["name"], groups["compute"], without=groups.get("absent", ()))
    if not name:
        return {}
    return {
        "source": tunnel_address(site, host),
        "name": name,
        "neighbour": tunnel_address(site, variables["hostvars"][name]["groundup_host"]),
        "mtu": site["ovn"]["path_mtu"],
    }
