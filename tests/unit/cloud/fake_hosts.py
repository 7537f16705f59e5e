"""Hypervisors among the entries of a cloud in memory: aggregates of Nova, traits of Placement, and what boots where."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .fake import FakeCloud

Entry = dict[str, Any]
Answer = tuple[int, Any]
NOTHING: Answer = 404, {"errors": [{"detail": "no such resource"}]}
DISABLED = "COMPUTE_STATUS_DISABLED"


@dataclass
class FakeHosts:
    """What Nova and Placement know of hosts beside their entries."""

    cloud: FakeCloud
    traits: dict[str, set[str]] = field(default_factory=dict)  # by id of the provider
    defined: set[str] = field(default_factory=set)
    broken: set[str] = field(default_factory=set)  # instances on them end in ERROR
    closes: int = 0  # how often nova-compute writes the trait again before the scheduler asks
    conflicts: int = 0  # how often somebody else writes traits first
    written: list[str] = field(default_factory=list)  # what was changed

    def join(self, host: str, *, reason: str | None = None) -> None:
        """Have a host report; ``reason``: it is disabled."""
        status, name, uuid = "enabled" if reason is None else "disabled", f"{host}.test", f"uuid-{host}"
        service = {"id": f"service-{host}", "binary": "nova-compute", "host": host, "forced_down": False}
        self.cloud.add("services", {**service, "state": "up", "status": status, "disabled_reason": reason}, "")
        known = {"id": uuid, "hypervisor_hostname": name, "host_ip": "192.0.2.1"}
        self.cloud.add("hypervisors", {**known, "service": {"host": host, "id": service["id"]}}, "")
        self.cloud.add("resource_providers", {"id": uuid, "uuid": uuid, "name": name}, "")
        self.traits[uuid] = {"HW_CPU_X86_AVX"} | ({DISABLED} if reason is not None else set())

    def service(self, host: str) -> Entry | None:
        """Return the compute service of ``host``."""
        return next((one for one in self.cloud.of("services") if one["host"] == host), None)

    def disabled(self) -> dict[str, str]:
        """Return the reasons by host."""
        found = self.cloud.of("services")
        return {one["host"]: one["disabled_reason"] for one in found if one["status"] == "disabled"}

    def boot(self, host: str) -> tuple[str, str]:
        """Return status and fault of an instance that is asked to be on ``host``."""
        traits = self.traits.get(f"uuid-{host}", set())
        if self.closes:
            self.closes -= 1
            traits.add(DISABLED)
        if DISABLED in traits:
            return "ERROR", "No valid host was found. There are not enough hosts available."
        return ("ERROR", "Build of instance aborted") if host in self.broken else ("ACTIVE", "")

    def compute(self, verb: str, path: list[str], body: Entry) -> Answer | None:
        """Answer for Nova; None: what any entry answers."""
        match verb, path:
            case "PUT", ["os-services", identity]:
                if not {"status", "forced_down"} & body.keys():
                    return 400, {"badRequest": {"message": "No updates were requested."}}
                (one,) = (each for each in self.cloud.of("services") if each["id"] == identity)
                one |= {**({"disabled_reason": None} if "status" in body else {}), **body}
                self.written.append(f"{one['status']} {one['host']}")
                return 200, {"service": one}
            case (("POST" | "PUT" | "DELETE"), ["os-aggregates", *rest]):
                self.written.append(f"{verb} aggregate {' '.join([*rest, *body])}")
                return self._aggregate(verb, rest, body)
        return None

    def _aggregate(self, verb: str, rest: list[str], body: Entry) -> Answer:
        there = self.cloud.of("aggregates")
        if not rest:
            made = {"id": len(self.written) + 100, "hosts": [], "metadata": {}, "name": body["aggregate"]["name"]}
            return 200, {"aggregate": self.cloud.add("aggregates", made, "")}
        (one,) = (each for each in there if str(each["id"]) == rest[0])
        if verb == "DELETE":
            if one["hosts"]:
                return 400, {"badRequest": {"message": "not empty"}}
            there.remove(one)
            return 204, None
        if "set_metadata" in body:
            one["metadata"] |= body["set_metadata"]["metadata"]
        if "add_host" in body:
            host, zone = body["add_host"]["host"], one["metadata"].get("availability_zone")
            others = [each["metadata"].get("availability_zone") for each in there if host in each["hosts"]]
            if zone and any(each not in (None, zone) for each in others):
                return 409, {"conflictingRequest": {"message": "One or more hosts already in availability zone(s)"}}
            one["hosts"].append(host)
        if "remove_host" in body:
            one["hosts"].remove(body["remove_host"]["host"])
        return 200, {"aggregate": one}

    def placement(self, verb: str, path: list[str], query: dict[str, str], body: Entry) -> Answer | None:
        """Answer for Placement; None: what any entry answers."""
        if verb != "GET":
            self.written.append(f"{verb} {path[0]}")
        answer: Answer | None = NOTHING
        match verb, path:
            case "GET", ["traits"]:
                prefix = query["name"].removeprefix("startswith:")
                answer = 200, {"traits": sorted(one for one in self.defined if one.startswith(prefix))}
            case "PUT", ["traits", name]:
                self.defined.add(name)
                answer = 201, None
            case "DELETE", ["traits", name]:
                self.defined.remove(name)
                answer = 204, None
            case "GET", ["resource_providers"] if "required" in query:
                found = [uuid for uuid, traits in self.traits.items() if query["required"] in traits]
                answer = 200, {"resource_providers": [{"uuid": uuid} for uuid in found]}
            case _, ["resource_providers", uuid, "traits"]:
                answer = self._traits(verb, uuid, body)
            case "GET" | "PUT", ["allocations", consumer]:
                answer = self._allocations(verb, consumer, body)
            case _, ["resource_providers" | "allocations", *_]:
                answer = None
        return answer

    def _allocations(self, verb: str, consumer: str, body: Entry) -> Answer:
        there = self.cloud.of("allocations")
        if verb == "PUT":
            gone = [one for one in there if one["id"] == consumer and one["of"] not in body["allocations"]]
            self.cloud.kinds["allocations"] = [one for one in there if one not in gone]
            return 204, None
        held = {one["of"]: {"resources": {"VCPU": 1}, "generation": 3} for one in there if one["id"] == consumer}
        return 200, {"allocations": held, "project_id": "p", "user_id": "u", "consumer_generation": 2}

    def _traits(self, verb: str, uuid: str, body: Entry) -> Answer:
        if uuid not in self.traits:
            return NOTHING
        if verb == "PUT" and self.conflicts:
            self.conflicts -= 1
            return 409, {"errors": [{"detail": "another generation"}]}
        if verb == "PUT":
            self.traits[uuid] = set(body["traits"])
        return 200, {"traits": sorted(self.traits[uuid]), "resource_provider_generation": 7}
