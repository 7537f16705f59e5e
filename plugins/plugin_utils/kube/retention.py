"""Keep the data of volumes whose claims are deleted. The class `general` deletes them, and its policy cannot change."""

from __future__ import annotations

from .client import Api
from .removal import VOLUMES

_MERGE = "application/merge-patch+json"


def retain(api: Api, namespace: str) -> list[str]:
    """Set the volumes of the claims in ``namespace`` to `Retain`; return their names. Raises ApiError."""
    done = []
    for volume in api.get(VOLUMES).get("items") or ():
        of = volume["spec"].get("claimRef") or {}
        if of.get("namespace") == namespace and volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
            name = str(volume["metadata"]["name"])
            body = {"spec": {"persistentVolumeReclaimPolicy": "Retain"}}
            api.request("PATCH", f"{VOLUMES}/{name}", body=body, content_type=_MERGE)
            done.append(name)
    return done
