"""A host's program asks Debian's own smartctl for drives: of a host without any, and of one that cannot be opened."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from ansible_collections.groundup.cloud.plugins.module_utils._base import bundle
from ansible_collections.groundup.cloud.plugins.module_utils._host.watched import SMART, SMART_TOLD
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring import smart_timer
from ansible_collections.groundup.cloud.plugins.module_utils._monitoring.host_metrics import smart
from ansible_collections.groundup.cloud.tests.integration.host_root import HostRoot, host_root

from .watched import command


def told(host: HostRoot) -> dict[str, str]:
    """Return each series and its value, after one run."""
    done = host.run(*command(smart_timer.service()))
    assert done.returncode == 0, done.stdout
    return dict(line.rsplit(" ", 1) for line in host.at(SMART_TOLD).read_text().splitlines())


def test_a_drive_that_cannot_be_opened_is_unknown_and_a_missing_program_is_no_answer(
    tmp_path: Path, root: Callable[[str], Path]
) -> None:
    with host_root(tmp_path) as host:
        shutil.copy(root("root-monitoring") / smart.PROGRAM.relative_to("/"), host.at(smart.PROGRAM))
        for place in (SMART.program.parent, SMART_TOLD.parent):
            host.at(place).mkdir(parents=True)
        host.at(SMART.program).write_bytes(bundle.program(smart))
        host.at("/srv/cpuinfo").write_text("flags : fpu\n")  # this machine may be virtual
        assert host.run("mount", "--bind", "/srv/cpuinfo", str(smart.PROCESSORS)).returncode == 0
        # Its devices are this machine's, until these take their place.
        assert host.run("mount", "-t", "tmpfs", "tmpfs", "/dev").returncode == 0
        assert host.run("mknod", "/dev/null", "c", "1", "3").returncode == 0
        assert told(host).keys() == {smart.ASKED}

        # Of no driver: it is there, and does not answer.
        assert host.run("mknod", "/dev/sda", "b", "65", "240").returncode == 0
        found = told(host)
        assert found.pop(smart.ASKED)
        assert found == {f'{smart.KNOWN}{{device="sda",model_name="",serial_number=""}}': "0"}

        host.at(smart.PROGRAM).unlink()
        before = host.at(SMART_TOLD).read_text()
        assert host.run(*command(smart_timer.service())).returncode != 0
        assert host.at(SMART_TOLD).read_text() == before, "it grows old, and DisksUnasked tells"
