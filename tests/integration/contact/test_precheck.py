"""What can be known before the first change is told in one run, which leaves nothing behind."""

from __future__ import annotations

from collections.abc import Callable

from ansible_collections.groundup.cloud.plugins.plugin_utils.paths import COLLECTION
from ansible_collections.groundup.cloud.tests.integration.contact.conftest import Operator
from ansible_collections.groundup.cloud.tests.integration.contact.machine import Machine
from ansible_collections.groundup.cloud.tests.integration.contact.test_first_contact import PASSWORDLESS

Start = Callable[[int], Machine]


def test_a_precheck_of_a_new_site_passes_and_leaves_nothing_behind(operator: Operator, machine: Start) -> None:
    both = machine(1), machine(2)
    for one in both:
        one.admit(operator.public_key)
        one.run(PASSWORDLESS)
    operator.write_site(node_1=both[0].host_key, node_2=both[1].host_key)
    path = operator.home / "precheck.yml"
    text = (COLLECTION / "playbooks/precheck.yml").read_text()
    path.write_text(text.replace("groundup.cloud.contact", str(operator.playbook())))
    said = operator.play(f"--private-key={operator.key}", playbook=str(path))
    assert said.startswith("exit 0"), said
    assert "would change: plan 1, contact 3, supply" in said
    assert said.index("Layer 1 of 2: plan") < said.index("Layer 2 of 2: supply")
    assert "a prediction: nothing was changed next: ansible-playbook -i " in said
    assert not operator.state.exists()
    assert [
        one.run("ls -d /etc/ssh/authorized_keys.d /etc/sudoers.d/groundup 2> /dev/null || true") for one in both
    ] == ["", ""]
