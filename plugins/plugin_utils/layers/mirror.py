"""Images of the site's own choice that supply copies into the seed's registry: their artifact's name and their place.

The name of the artifact is the image's reference, in characters that fit into a file's name, so that an artifact needs
no entry in ``supply.lock``: `Lock.including` makes it from the name.
"""

from __future__ import annotations

import re

OCI = "oci://"
_PLACE = (
    r"([A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+(:[0-9]{1,5})?|[A-Za-z0-9-]+:[0-9]{1,5})"  # else it would be Docker's, unsaid
    r"(/[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*)+"
)
_TAG, _DIGEST = ":[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}", "@sha256:[0-9a-f]{64}"
FORM = re.compile(f"{_PLACE}{_TAG}{_DIGEST}")
ARTIFACT = re.compile(f"{_PLACE}({_TAG}|{_DIGEST})")
_PREFIX = "mirror,"
_SAFE, _PLAIN = str.maketrans("/:@", "+=,"), str.maketrans("+=,", "/:@")


def artifact(reference: str) -> str:
    """Return the name of the artifact of the image ``host/path:tag@sha256:...``."""
    return _PREFIX + reference.translate(_SAFE)


def reference_of(name: str) -> str | None:
    """Return the reference of the image that the artifact ``name`` is a copy of; None: it is another artifact."""
    reference = name.removeprefix(_PREFIX).translate(_PLAIN)
    return reference if name.startswith(_PREFIX) and FORM.fullmatch(reference) else None


def image(reference: str) -> str:
    """Return repository and tag of the copy, below the site's registry: "mirror/quay.io/org/name:tag"."""
    tagged = reference.partition("@")[0]
    host, _, path = tagged.partition("/")
    return f"mirror/{host.lower().replace(':', '_')}/{path}"
