"""Who has images open: a client that lives renews its watch, whatever other networks say of its host."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from .._base.errors import GroundupError
from .cluster import CephCluster


def watchers(cluster: CephCluster, disks: Mapping[str, Collection[str]]) -> dict[str, list[str]]:
    """Return the addresses of the clients that have an image open, by image. ``disks``: images by pool.

    One that a pool lacks has none. Raises GroundupError.
    """
    import rados  # type: ignore[import-not-found]  # of the host: a package of this layer brings both
    import rbd  # type: ignore[import-not-found]

    found = dict[str, list[str]]()
    for pool, images in disks.items():
        try:
            with cluster.handle.open_ioctx(pool) as data:
                for name in images:
                    try:
                        with rbd.Image(data, name, read_only=True) as image:  # which is no watch itself
                            clients = {_address(one["addr"]) for one in image.watchers_list()}
                            found[name] = sorted({*found.get(name, ()), *clients})
                    except rbd.ImageNotFound:
                        continue
        except (rados.Error, rbd.Error) as error:
            raise GroundupError(
                f"who has images of pool {pool} open cannot be asked: {error}",
                where=f"rbd status {pool}/IMAGE",
                why="whether their instances run is not known",
                remedy="ceph status and ceph osd pool ls, on a monitor host",
            ) from None
    return found


def _address(client: str) -> str:
    """Return the address of "10.9.0.7:0/12345" or "[fd00::7]:0/12345"."""
    return client.rpartition(":")[0].strip("[]")
