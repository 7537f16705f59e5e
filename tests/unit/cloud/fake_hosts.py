"""Hypervisors of the cloud in memory: services and aggregates of Nova, providers and traits of Placement."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Entry = dict[str, Any]
Answer = tuple[int, Any]
DISABLED = "COMPUTE_STATUS_DISABLED"


@dataclass
class FakeHosts:
    """What Nova and Placement know of hosts."""

    services: dict[str, Entry] = field(default_factory=dict)  # by host
    aggregates: dict[int, Entry] = field(default_factory=dict)
    traits: dict[str, set[str]] = field(default_factory=dict)  # by id of the provider
    defined: set[str] = field(default_factory=set)
    broken: set[str] = field(default_factory=set)  # instances on them end in ERROR
    closes: int = 0  # how often nova-compute writes the trait again before the scheduler asks
    conflicts: int = 0  # how often somebody else writes traits first
    written: list[str] = field(default_factory=list)  # what was changed
    known: bool = True  # whether this is who answers for hosts

    def join(self, host: str, *, reason: str | None = None) -> None:
        """Have a host report; ``reason``: it is disabled."""
        status = "enabled" if reason is None else "disabled"
        self.services[host] = {
            "id": f"service-{host}", "binary": "nova-compute", "host": host, "state": "up", "status": status,
            "disabled_reason": reason,
        }  # fmt: skip
        self.traits[f"uuid-{host}"] = {"HW_CPU_X86_AVX"} | ({DISABLED} if reason is not None else set())

    def disabled(self) -> dict[str, str]:
        """Return the reasons by host."""
        return {host: one["disabled_reason"] for host, one in self.services.items() if one["status"] == "disabled"}

    def named(self) -> dict[str, Entry]:
        """Return metadata and hosts of aggregates by name."""
        return {
            one["name"]: {"metadata": one["metadata"], "hosts": one["hosts"]} for one in self.aggregates.values()
        }  # fmt: skip

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
        """Answer for Nova; None: not of hosts."""
        if not self.known:
            return None
        match verb, path:
            case "GET", ["os-services"]:
                return 200, {"services": list(self.services.values())}
            case "PUT", ["os-services", identity]:
                (one,) = (each for each in self.services.values() if each["id"] == identity)
                one |= {"disabled_reason": None, **body}
                self.written.append(f"{one['status']} {one['host']}")
                return 200, {"service": one}
            case "GET", ["os-hypervisors", "detail"]:
                known = [{"id": f"uuid-{host}", "service": {"host": host}} for host in self.services]
                return 200, {"hypervisors": known}
            case _, ["os-aggregates", *rest]:
                return self._aggregate(verb, rest, body)
        return None

    def _aggregate(self, verb: str, rest: list[str], body: Entry) -> Answer:
        if not rest and verb == "GET":
            return 200, {"aggregates": list(self.aggregates.values())}
        if verb != "GET":
            self.written.append(f"{verb} aggregate {' '.join([*rest, *body])}")
        if not rest:
            number = len(self.written) + 100
            self.aggregates[number] = {"id": number, "hosts": [], "metadata": {}, "name": body["aggregate"]["name"]}
            return 200, {"aggregate": self.aggregates[number]}
        one = self.aggregates[int(rest[0])]
        if verb == "DELETE":
            if one["hosts"]:
                return 400, {"badRequest": {"message": "not empty"}}
            del self.aggregates[one["id"]]
            return 204, None
        if "set_metadata" in body:
            one["metadata"] |= body["set_metadata"]["metadata"]
        if "add_host" in body:
            host, zone = body["add_host"]["host"], one["metadata"].get("availability_zone")
            others = [each["metadata"].get("availability_zone") for each in self.aggregates.values()
                      if host in each["hosts"]]  # fmt: skip
            if zone and any(each not in (None, zone) for each in others):
                return 409, {"conflictingRequest": {"message": "One or more hosts already in availability zone(s)"}}
            one["hosts"].append(host)
        if "remove_host" in body:
            one["hosts"].remove(body["remove_host"]["host"])
        return 200, {"aggregate": one}

    def placement(self, verb: str, path: list[str], query: dict[str, str], body: Entry) -> Answer | None:
        """Answer for Placement; None: not known."""
        if not self.known:
            return None
        if verb != "GET":
            self.written.append(f"{verb} {path[0]}")
        answer: Answer = 404, {"errors": [{"detail": "no such resource"}]}
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
            case "GET", ["resource_providers"]:
                found = [uuid for uuid, traits in self.traits.items() if query["required"] in traits]
                answer = 200, {"resource_providers": [{"uuid": uuid} for uuid in found]}
            case "GET", ["resource_providers", uuid, "traits"] if uuid in self.traits:
                answer = 200, {"traits": sorted(self.traits[uuid]), "resource_provider_generation": 7}
            case "PUT", ["resource_providers", _uuid, "traits"] if self.conflicts:
                self.conflicts -= 1
                answer = 409, {"errors": [{"detail": "another generation"}]}
            case "PUT", ["resource_providers", uuid, "traits"]:
                self.traits[uuid] = set(body["traits"])
                answer = 200, {"traits": body["traits"], "resource_provider_generation": 8}
        return answer
