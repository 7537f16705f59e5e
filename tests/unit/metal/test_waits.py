"""Nothing waits for ever for a host of the lab: the run ends, and says what it waited for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._container import runtime
from ansible_collections.groundup.cloud.plugins.module_utils._container.names import Lab


def test_a_runc_that_does_not_return_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runc = tmp_path / "bin/runc"
    runc.parent.mkdir()
    runc.write_text("#!/bin/sh\necho waiting for the freezer\nexec sleep 600\n")
    runc.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setattr(runtime, "START_TIMEOUT", 3.0)
    lab = Lab(site="test", root=tmp_path / "lab")
    lab.run = tmp_path / "run"
    lab.home("worker-1").mkdir(parents=True)
    with pytest.raises(GroundupError, match=r"worker-1: runc did not start it within 3 s: waiting for the freezer"):
        runtime.start(lab, "worker-1", {})
