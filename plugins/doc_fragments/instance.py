"""Options of modules that boot an instance and log in."""

from __future__ import annotations


class ModuleDocFragment:
    """Image, login, size and timeout of the instance."""

    DOCUMENTATION = r"""
options:
  image:
    description: Path of a qcow2 image with an ssh server that takes its key from metadata. Default is the site's guest.
    type: path
  user:
    description: Login of the image.
    type: str
    default: guest
  memory_mb:
    description: Memory of an instance, in MiB.
    type: int
    default: 128
  disk_gb:
    description: Disk of an instance, in GiB.
    type: int
    default: 1
  timeout:
    description: Seconds to wait for the image, for instances, and for ssh. Of hypervisors, until they have joined.
    type: int
    default: 300
"""
