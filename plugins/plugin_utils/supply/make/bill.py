"""Write bills of material as CycloneDX 1.6 documents with CycloneDX's library, and validate them against its schema.

Imported only where a bill is written or checked: library and schema take more than a second to load, too long for a run
that builds nothing. Output is reproducible: the serial number derives from the content, the time is the lock's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component as Part
from cyclonedx.model.component import ComponentType
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from ...errors import GroundupError
from ..lock.model import Entry, Kind
from .sbom import Component

_TYPES: dict[Kind, ComponentType] = {
    "root": ComponentType.OPERATING_SYSTEM, "files": ComponentType.APPLICATION, "image": ComponentType.CONTAINER,
}  # fmt: skip


def document(entry: Entry, components: Iterable[Component], *, epoch: int) -> bytes:
    """Return the bill of an artifact with ``components``. Raises GroundupError when it is not valid."""
    parts = {}
    for component in sorted(components):
        try:
            purl = PackageURL.from_string(component.purl)
        except ValueError as error:
            raise _invalid(entry.name, place=f"component {component.name}", what=str(error)) from error
        parts[str(purl)] = Part(
            type=ComponentType.LIBRARY, name=component.name, version=component.version, purl=purl, bom_ref=str(purl)
        )
    subject = Part(
        type=_TYPES[entry.kind], name=entry.name, version=entry.version, bom_ref=f"{entry.name}@{entry.version}"
    )
    content = json.dumps([entry.kind, entry.name, entry.version, list(parts)])
    bom = Bom(
        serial_number=uuid5(NAMESPACE_URL, content), components=parts.values(),
        metadata=BomMetaData(component=subject, timestamp=datetime.fromtimestamp(epoch, UTC)),
    )  # fmt: skip
    bom.register_dependency(subject, parts.values())
    text = json.dumps(json.loads(JsonV1Dot6(bom).output_as_string()), indent=1, sort_keys=True)
    validate(text, name=entry.name)
    return text.encode() + b"\n"


def validate(text: str, *, name: str) -> None:
    """Validate a document against the CycloneDX 1.6 schema. Raises GroundupError naming artifact and place."""
    try:
        fault = _validator().validate_str(text)
    except ValueError as error:  # not JSON at all
        raise _invalid(name, place="the document", what=str(error)) from error
    if fault is not None:
        place = "/".join(str(part) for part in fault.data.absolute_path) or "the document"
        raise _invalid(name, place=place, what=fault.data.message)


@cache
def _validator() -> JsonStrictValidator:
    return JsonStrictValidator(SchemaVersion.V1_6)


def _invalid(name: str, *, place: str, what: str) -> GroundupError:
    return GroundupError(
        f"the bill of material of artifact {name} is not valid CycloneDX 1.6: {what[:300]}",
        where=f"sbom.json of {name}: {place}",
        why="whoever reads it, a scanner or an auditor, would refuse it or miss what is inside",
        remedy=f"ci/supply build --rebuild {name}; if that writes it again, the builder lists a part wrongly",
    )
