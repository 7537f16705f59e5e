"""The site file described by its own model: a JSON Schema for editors and a reference page for people."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.purposes import PURPOSES
from ansible_collections.groundup.cloud.plugins.plugin_utils.layers.roles import ROLES
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.layout.profiles import HARDWARE, PROFILES, Profile
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.model import Site

ROOT = Path(__file__).resolve().parents[2]
_ID = "https://raw.githubusercontent.com/groundup-cloud/groundup.cloud/main/docs/site.schema.json"
SCHEMA, PAGE = "docs/site.schema.json", "docs/site-file.md"


def json_schema() -> str:
    """Return the JSON Schema of a site file."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": _ID, **_plain(Site.model_json_schema())}
    schema["title"] = "groundup.cloud site file"
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _plain(part: Any) -> Any:
    """Return ``part`` of a schema with one type where null is the other choice: editors then say what is wrong."""
    if isinstance(part, list):
        return [_plain(one) for one in part]
    if not isinstance(part, dict):
        return part
    found: dict[str, Any] = {name: _plain(one) for name, one in part.items()}
    match found.get("anyOf"):
        case [{"type": str()} as kind, {"type": "null"}]:
            choices = {"enum": [*kind["enum"], None]} if "enum" in kind else {}
            rest = {name: one for name, one in found.items() if name != "anyOf"}
            return {**kind, "type": [kind["type"], "null"], **choices, **rest}
    return found


def page() -> str:
    """Return the reference page, Markdown."""
    schema = Site.model_json_schema()
    sections = (_introduction(), _table("The file", schema, schema), _parts(schema), _profiles(), _shares())
    return "\n".join(line for section in sections for line in section) + "\n"


def _introduction() -> Iterator[str]:
    yield from (
        "# The site file",
        "",
        "<!-- Generated from plugins/plugin_utils/plan/model: change the model, not this page. -->",
        "",
        "One YAML file says all about a site. What is not written follows from the profile, and can be written.",
        "Keys that do not exist, duplicate keys, YAML aliases, tags and values of the wrong type are refused with the",
        "line or the key path, the reason and the remedy. An editor that knows JSON Schema checks it as you type:",
        "",
        "```yaml",
        "# yaml-language-server: $schema=../../docs/site.schema.json",
        "```",
        "",
        "That is the path in a clone. An installed collection has `groundup/cloud/docs/site.schema.json` below the",
        "directory that `ansible-galaxy collection list groundup.cloud` names: write the whole path.",
        "",
        "The lab's, complete:",
        "",
        "```yaml",
        (ROOT / "inventories/lab/site.yml").read_text().strip(),
        "```",
        "",
    )


def _parts(schema: dict[str, Any]) -> Iterator[str]:
    """Yield a section for each part, in the order the parts are met from the top."""
    definitions: dict[str, Any] = schema["$defs"]
    seen: dict[str, str] = {}
    waiting = [(key, value) for key, value in schema["properties"].items()]
    while waiting:
        path, value = waiting.pop(0)
        for name, suffix in _references(value):
            if name in seen:
                continue
            seen[name] = f"{path}{suffix}"
            yield from _table(f"`{seen[name]}`", definitions[name], schema)
            waiting += [(f"{seen[name]}.{key}", inner) for key, inner in definitions[name]["properties"].items()]


def _references(value: dict[str, Any], suffix: str = "") -> Iterator[tuple[str, str]]:
    if "$ref" in value:
        yield value["$ref"].rpartition("/")[2], suffix
    for option in value.get("anyOf", ()):
        yield from _references(option, suffix)
    for inner in _values(value):
        yield from _references(inner, f"{suffix}.<name>")
    if isinstance(value.get("items"), dict):
        yield from _references(value["items"], f"{suffix}[]")


def _values(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the types of a mapping's values; the schema has them by pattern where keys have one."""
    for inner in (value.get("additionalProperties"), *value.get("patternProperties", {}).values()):
        if isinstance(inner, dict):
            yield inner


def _table(title: str, part: dict[str, Any], schema: dict[str, Any]) -> Iterator[str]:
    yield from (
        f"## {title}",
        "",
        part.get("description", ""),
        "",
        "| key | type | default | what |",
        "|---|---|---|---|",
    )
    required = part.get("required", [])
    for key, value in part["properties"].items():
        default = "**required**" if key in required else _default(value)
        target = schema["$defs"].get(value.get("$ref", "").rpartition("/")[2], {})
        what = value.get("description", target.get("description", "")).replace("|", "\\|").replace("<", "&lt;")
        yield f"| `{key}` | {_type(value, schema)} | {default} | {what} |"
    yield ""


def _default(value: dict[str, Any]) -> str:
    default = value.get("default")
    return "" if default is None or default in ({}, []) else f"`{json.dumps(default)}`"


def _type(value: dict[str, Any], schema: dict[str, Any]) -> str:  # noqa: PLR0911 - one return a kind of type
    if "const" in value:
        return f"`{value['const']}`"
    if "enum" in value:
        return " or ".join(f"`{choice}`" for choice in value["enum"])
    if "anyOf" in value:
        return " or ".join(_type(option, schema) for option in value["anyOf"] if option.get("type") != "null")
    if "$ref" in value:
        return "mapping, below"
    kind = value.get("type", "anything")
    if kind == "array":
        return f"list of {_type(value['items'], schema)}"
    if kind == "object":
        inner = next(_values(value), {"$ref": ""})
        return "mapping, below" if "$ref" in inner else f"mapping of {_type(inner, schema)}"
    if kind == "integer":
        low, high = value.get("minimum"), value.get("maximum")
        return f"integer, {low} to {high}" if low is not None and high is not None else "integer"
    examples = f", such as `{value['examples'][0]}`" if "examples" in value else ""
    return f"{ {'string': 'text'}.get(kind, kind) }{examples}"


def _profiles() -> Iterator[str]:
    yield from (
        "## What follows from the profile",
        "",
        "| what | " + " | ".join(PROFILES) + " |",
        "|---|" + "---|" * len(PROFILES),
    )
    rows: dict[str, Callable[[Profile], str]] = {
        "machines are": lambda p: p.provisioner,
        "pod network": lambda p: p.cni,
        "kubelet": lambda p: ", ".join(f"{k}: {json.dumps(v)}" for k, v in p.kubelet.items()),
        "kubeadm preflight checks passed over": lambda p: ", ".join(p.ignore_preflight) or "none",
        "kernel modules": lambda p: ", ".join(p.kernel_modules) or "none",
        "time servers": lambda p: ", ".join(p.ntp_servers) or "the host's own",
        "copies of data never share a": lambda p: p.failure_domain,
        "control hosts kept for the control plane, given workers": lambda p: "yes" if p.control_taint else "no",
        "findings about quorums, planes and volumes as in production": lambda p: "yes" if p.production else "no",
    }
    networks = {p: [f"{n} {r.cidr[p]}" for n, r in PURPOSES.items() if p in r.cidr] for p in PROFILES}
    yield f"| networks of its own | {' | '.join(', '.join(found) or 'none' for found in networks.values())} |"
    for name, value in rows.items():
        yield f"| {name} | " + " | ".join(value(profile) for profile in PROFILES.values()) + " |"
    yield from ("", "The least a machine must have, by role (a machine's `hardware` is compared with it):", "")
    yield from ("| profile | role | cores | memory, GiB | network, Gbit/s | NVMe |", "|---|---|---|---|---|---|")
    for profile in PROFILES:
        for role, record in ROLES.items():
            has = HARDWARE[record.hardware[profile]]
            nvme = "yes" if has.nvme else "no"
            yield f"| {profile} | {role} | {has.cores} | {has.memory_gb} | {has.nic_gbps} | {nvme} |"
    yield ""


def _shares() -> Iterator[str]:
    yield from (
        "## The address plan",
        "",
        "A machine's address follows from its role and its number alone: machine 3 of a role has the third address of",
        "the role's share on every network it is on. Adding a machine therefore never moves another, and a share that",
        "is full is an error, never a move. The first address of a network is its router's and the second of the",
        "management network the virtual IP, unless written otherwise. Shares of a network, and what they are in a /24",
        "and a /22:",
        "",
        "| role | share | in a /24 | in a /22 |",
        "|---|---|---|---|",
    )
    for role, record in ROLES.items():
        low, high = record.share
        small, large = (f"{size * low // 32} to {min(size * high // 32, size - 1) - 1}" for size in (256, 1024))
        yield f"| {role} | {low}/32 to {high}/32 | {small} | {large} |"
    yield from (
        "",
        "With `per_rack`, each rack has a block of 64 numbers (`slots_per_rack`), placed by the rack's number. In a",
        "network smaller than a /25, write `ranges` or each machine's `address`.",
    )
