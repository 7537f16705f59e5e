"""Whom a dead hypervisor concerns: projects, owners and instances, and what of them is a metric."""

from __future__ import annotations

from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import affected, compute_host, failure
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.resources.api import CloudApi

from .dying import HEARD, NOW, SILENT, Looking, dead, look, plan
from .hypervisors import HERE, Hypervisors

__all__ = ["dead", "look", "plan"]  # fixtures


def told(look: Looking) -> list[affected.FailedHypervisor]:
    contacts = {name: SILENT if name in look.silent else HEARD for name in look.plan.hosts}
    return affected.rows(CloudApi(look.operator), *failure.look(look.plan, look.operator, contacts, look.ceph, now=NOW))


def test_owners_are_told_by_project_and_no_person_is_in_a_metric(look: Looking, dead: Hypervisors) -> None:
    dead.server("local")["image"] = {"id": "an-image"}
    dead.add("projects", {"id": "a-project", "name": 'sh"op', "domain_id": "d", "description": "pager: 7\x1b[2J"}, "")
    dead.add("domains", {"id": "d", "name": "Customers"}, "")
    dead.add("users", {"id": "anna", "name": "anna", "email": "anna@example.com"}, "")
    scope = {"project": {"id": "a-project"}}
    dead.recorded["identity role_assignments"] = {
        "": {"role_assignments": [{"user": {"id": one}, "scope": scope} for one in ("anna", "anna", "left")]}
    }
    (row,) = found = told(look)
    assert (row.state, row.against) == ("evacuates", ())
    (project,) = row.projects
    assert (project.domain, project.people) == ("Customers", ("anna <anna@example.com>",))
    assert {one.name: one.disks for one in project.instances} == {"web": "outlive it", "local": "are on it"}
    text = affected.table("cloud", found)
    assert "\x1b" not in text
    for said in ("tell anna <anna@example.com>", "; its disks are on it", "groundup.cloud.evacuate -e machine="):
        assert said in text
    lines = affected.metrics(found, now=7.0)
    assert f'{affected.DOWN}{{hypervisor="{HERE}",project="sh\\"op",project_id="a-project"}} 2\n' in lines
    assert f"{affected.LOOKED} 7\n" in lines
    assert "anna" not in lines
    assert affected.document("cloud", "now", found)["state"] == "failed"
    assert affected.document("cloud", "now", [])["state"] == "clean"


def test_owners_that_keystone_cannot_say_keep_nobody_from_being_told(look: Looking, dead: Hypervisors) -> None:
    dead.refuses["GET projects"] = (500, "the directory does not answer")
    (row,) = told(look)
    assert row.state == "evacuates"
    assert "not known: " in row.projects[0].people[0]


def test_a_project_that_is_gone_is_its_id_and_one_that_is_back_is_undrained(look: Looking, dead: Hypervisors) -> None:
    (row,) = told(look)
    assert [one.name for one in row.projects] == [""]
    assert "  project a-project\n    tell nobody" in affected.table("cloud", [row])
    dead.service().update(status="disabled", disabled_reason=compute_host.EVACUATE, forced_down=True)
    dead.kinds["servers"] = []
    (row,) = told(look)
    assert row.state == "evacuated"
    assert row.remedy.startswith("when it is back: ansible-playbook groundup.cloud.undrain")
    look.silent = set()
    (row,) = told(look)
    assert row.remedy.startswith("it answers again: ansible-playbook groundup.cloud.undrain")
