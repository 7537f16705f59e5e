"""What libvirt says of processors and machines, against the hardware profile."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.module_utils._hypervisor import processor
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.model.machines import Compute

CAPABILITIES = """\
<domainCapabilities><domain>kvm</domain><machine>pc-q35-10.0</machine>
  <cpu>
    <mode name='host-passthrough' supported='yes'><enum name='hostPassthroughMigratable'/></mode>
    <mode name='maximum' supported='yes'/>
    <mode name='host-model' supported='no'/>
    <mode name='custom' supported='yes'>
      <model usable='yes' vendor='Intel' canonical='Nehalem-v1'>Nehalem</model>
      <model usable='no' vendor='Intel'>Skylake-Server</model>
      <blockers model='Skylake-Server'><feature name='avx512f'/><feature name='clwb'/></blockers>
      <model usable='unknown' vendor='Intel'>Haswell</model>
    </mode>
  </cpu>
</domainCapabilities>
"""

LACKS = "cpu_model: Skylake-Server, and this machine cannot be one: the processor lacks avx512f, clwb"


@pytest.mark.parametrize(
    ("mode", "model", "said"),
    [
        ("custom", "Nehalem", ""),
        ("custom", "Haswell", ""),
        ("custom", "Skylake-Server", LACKS),
        ("custom", "Nahalem", "cpu_model: Nahalem, and libvirt knows no such model; usable here: Nehalem"),
        ("host-passthrough", None, ""),
        ("host-model", None, "cpu_mode: host-model, and libvirt has none with virt_type kvm"),
    ],
)  # fmt: skip
def test_a_model_that_libvirt_refuses_is_named_with_its_field(mode: str, model: str | None, said: str) -> None:
    compute = Compute.model_validate({"cpu_mode": mode, "cpu_model": model}).model_dump()
    assert "; ".join(processor.lacking(compute, CAPABILITIES)) == said


def test_qemu_by_itself_starts_guests_without_what_it_cannot_do_but_knows_their_model() -> None:
    compute = {**Compute(virt_type="qemu").model_dump(), "cpu_mode": "custom"}
    assert list(processor.lacking({**compute, "cpu_model": "Skylake-Server"}, CAPABILITIES)) == []
    assert "no such model" in next(processor.lacking({**compute, "cpu_model": "Nahalem"}, CAPABILITIES))


def test_a_machine_that_qemu_has_not_is_refused_before_its_processors() -> None:
    fault = "error: invalid argument: the machine 'q35' is not supported by emulator"
    assert list(processor.lacking(Compute().model_dump(), "", fault=fault)) == [
        f"machine_type: q35, and libvirt says: {fault}"
    ]


@pytest.mark.parametrize(("there", "answer"), [(False, None), (True, (1, "", "error: failed to connect"))])
def test_without_libvirt_there_is_nothing_to_ask(
    there: bool, answer: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(processor, "VIRSH", tmp_path if there else tmp_path / "virsh")
    if answer:
        code, out, error = answer
        monkeypatch.setattr(
            processor, "attempt", lambda *_a, **_k: SimpleNamespace(returncode=code, stdout=out, stderr=error)
        )
    assert not processor.refuse(Compute().model_dump(), hardware="own", host="h")


def test_the_refusal_names_host_and_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(processor, "VIRSH", tmp_path)
    said = SimpleNamespace(returncode=0, stdout=CAPABILITIES, stderr="")
    monkeypatch.setattr(processor, "attempt", lambda *_a, **_k: said)
    compute = Compute(cpu_mode="custom", cpu_model="Skylake-Server").model_dump()
    with pytest.raises(GroundupError, match="Skylake-Server") as caught:
        processor.refuse(compute, hardware="own", host="hypervisor-1")
    assert "hypervisor-1; site file key hardware.own.compute" in str(caught.value)
    assert processor.refuse(
        Compute(cpu_mode="custom", cpu_model="Nehalem").model_dump(), hardware="own", host="hypervisor-1"
    )
