"""Write what differs. Usage: ci/run python -m ansible_collections.groundup.cloud.ci.reference"""

from __future__ import annotations

from . import site_file, write

print("\n".join(write(site_file.ROOT)) or "nothing to do")
