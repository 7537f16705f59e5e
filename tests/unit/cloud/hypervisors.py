"""Nova, Placement and Neutron of a cloud in memory with two hypervisors: what migrates, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.joining import INVENTORY

from .fake import Entry, FakeCloud

HERE, THERE = "hypervisor-1", "hypervisor-2"
HOST, TASK = "OS-EXT-SRV-ATTR:host", "OS-EXT-STS:task_state"
PROVIDER = f"uuid-{HERE}"


@dataclass
class Hypervisors(FakeCloud):
    """Two hypervisors; instances go from the first to the second in so many questions."""

    questions: int = 2
    refused: dict[str, str] = field(default_factory=dict)  # id of a server -> what the API says to its live migration
    fails: dict[str, str] = field(default_factory=dict)  # id of a server -> why its live migration ends where it began
    most: int = 0  # on their way at once
    agent_alive: int = 0  # questions after which agents can be deleted
    breaks: set[str] = field(default_factory=set)  # ids of servers that are in ERROR where they went
    moves: str = "live-migration"  # what Nova calls the action that fails
    cleans: int = 0  # lists of migrations until the source of a live one has cleaned up

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in (HERE, THERE):
            self.hosts.join(name)
            for kind in ("OVN Controller Gateway agent", "OVN Neutron agent"):
                self.add("agents", {"host": name, "agent_type": kind, "alive": True}, "")
        for name, hosts in (("rack-a", [HERE, THERE]), ("rack-b", [THERE])):
            self.add("aggregates", {"name": name, "hosts": hosts, "metadata": {}}, "")

    def add(self, kind: str, entry: Entry, project: str) -> Entry:
        """Make an entry; a server has no task."""
        made = super().add(kind, entry, project)
        if kind == "servers":
            made |= {TASK: None, "was": made["status"], "left": 0}
        return made

    def service(self, name: str = HERE) -> Entry:
        found = self.hosts.service(name)
        assert found
        return found

    def server(self, name: str, *, status: str = "ACTIVE", host: str = HERE, task: str | None = None) -> Entry:
        made = self.add("servers", {"name": name}, "a-project")
        made |= {"status": status, HOST: host, TASK: task, "was": status}
        self.of("ports").clear()
        return made

    def migration(self, server: Entry, *, kind: str = "migration", status: str = "finished") -> Entry:
        uuid = f"migration-{server['id']}"
        entry = {"uuid": uuid, "instance_uuid": server["id"], "source_compute": HERE, "status": status}
        return self.add("migrations", {**entry, "migration_type": kind}, "")

    def of(self, kind: str) -> list[Entry]:
        """Return entries; whoever lists migrations sees live ones a little farther."""
        found = super().of(kind)
        for one in found if kind == "migrations" else ():
            if one["status"] == "running":
                one["left"] -= 1
                if one["left"] < 0:
                    self._ended(one)
        return found

    def _ended(self, migration: Entry) -> None:
        """A live migration is over: its instance is where it was to go."""
        migration["status"] = "completed"
        for one in self.kinds["servers"]:
            if one["id"] == migration["instance_uuid"]:
                one[HOST] = migration["dest_compute"]

    def one(self, kind: str, identity: str) -> Entry | None:
        """Find an entry; whoever asks for a server sees it a little farther."""
        found = super().one(kind, identity)
        if kind == "servers" and found and found[TASK]:
            self.most = max(self.most, sum(1 for each in self.of("servers") if each[TASK]))
            found["left"] -= 1
            if found["left"] <= 0:
                self._arrive(found)
        return found

    def _arrive(self, server: Entry) -> None:
        task, server[TASK] = server[TASK], None
        if task == "resize_prep":
            server |= {"status": "VERIFY_RESIZE", HOST: THERE}
            self.migration(server)
        elif task == "migrating":
            server["status"] = server["was"]
            if server["id"] not in self.fails:
                server[HOST] = THERE
                server["status"] = "ERROR" if server["id"] in self.breaks else server["was"]
                live = {"left": self.cleans, "dest_compute": THERE}
                self.migration(server, kind="live-migration", status="running").update(live)
        elif task == "confirming":
            server["status"] = server["was"]
            for one in self.of("migrations"):
                if one["instance_uuid"] == server["id"]:
                    one["status"] = "confirmed"
        elif task == "spawning":
            server["status"] = "ACTIVE"
        elif task == "rebuilding":
            back = server["id"] not in self.fails
            status = "SHUTOFF" if server["was"] == "SHUTOFF" else "ACTIVE"
            server |= {"status": status, HOST: THERE} if back else {"status": "ERROR"}

    def part(self, kind: str, identity: str, parts: list[str], body: Entry) -> tuple[int, Any] | None:
        if kind == "servers" and parts[0] == "os-instance-actions":
            return self._actions(identity, parts[1:])
        if kind == "servers" and parts == ["action"]:
            return self._act(identity, body)
        if kind == "resource_providers" and parts == ["allocations"]:
            held = {one["id"]: {"resources": {"VCPU": 1}} for one in self.of("allocations") if one["of"] == identity}
            return 200, {"allocations": held, "resource_provider_generation": 1}
        if kind == "resource_providers" and parts == ["inventories"]:
            return 200, {"inventories": {key: {} for key in INVENTORY}}
        return None

    def _act(self, identity: str, body: Entry) -> tuple[int, Any] | None:
        (server,) = (one for one in self.of("servers") if one["id"] == identity)
        tasks = {
            "os-migrateLive": "migrating", "migrate": "resize_prep", "confirmResize": "confirming",
            "evacuate": "rebuilding",
        }  # fmt: skip
        (verb,) = body
        if verb not in tasks:
            return None
        if verb == "evacuate" and not self.service(server[HOST])["forced_down"]:
            return 400, {"badRequest": {"code": 400, "message": "Compute service is still in use."}}
        if verb in ("os-migrateLive", "evacuate") and identity in self.refused:
            return 409, {"conflictingRequest": {"code": 409, "message": self.refused[identity]}}
        statuses = {"migrating": "MIGRATING", "resize_prep": "RESIZE", "rebuilding": "REBUILD"}
        if verb == "evacuate" and tuple(map(int, self.version.split("."))) >= (2, 95):
            server["was"] = "SHUTOFF"
        server |= {TASK: tasks[verb], "left": self.questions}
        server["status"] = statuses.get(tasks[verb], server["status"])
        return 202, None

    def _actions(self, identity: str, parts: list[str]) -> tuple[int, Any]:
        why = self.fails.get(identity, "")
        action = {"action": self.moves, "request_id": "req-1", "message": "Error", "instance_uuid": identity}
        if not parts:
            return 200, {"instanceActions": [{"action": "lock", "request_id": "req-2"}, action]}
        traceback = f"Traceback (most recent call last):\n  File x\nnova.exception.NoValidHost: {why}\n"
        event = {"event": "compute_live_migration", "result": "Error", "traceback": traceback, "details": "NoValidHost"}
        return 200, {"instanceAction": {**action, "events": [event]}}

    def delete(self, kind: str, identity: str) -> int:
        found = super().one(kind, identity)
        if found and kind == "services":  # Nova takes the provider with it
            for other in ("hypervisors", "resource_providers"):
                self.kinds[other] = [one for one in self.of(other) if not str(one).count(found["host"])]
        if found and kind == "agents":
            if self.agent_alive > 0:
                self.agent_alive -= 1
                return 409
            self.kinds[kind] = [one for one in self.of(kind) if one["host"] != found["host"]]
            return 204
        return super().delete(kind, identity)
