"""Roles of groups: given once, only ours taken back, predicted; and nobody gets one by a name that looks alike."""

from __future__ import annotations

import pytest
from ansible_collections.groundup.cloud.plugins.module_utils._base.changes import Changes
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud import identity
from ansible_collections.groundup.cloud.plugins.plugin_utils.cloud.grants import MARK
from ansible_collections.groundup.cloud.plugins.plugin_utils.errors import GroundupError
from ansible_collections.groundup.cloud.plugins.plugin_utils.https import Answer
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.part_types import RolePlan

from .identity_api import Server, plan

MEMBER = RolePlan(group="staff", role="member", project="ops", domain="Default")
READER = RolePlan(group="staff", role="reader", project=None, domain="corp")
GIVEN = [
    "create project ops of domain Default",
    "give role member on project ops of domain Default to group staff of corp",
    "give role reader on domain corp to group staff of corp",
]
TAKEN = [line.replace("give", "take back") for line in GIVEN[1:]]


def converged(server: Server, **domains: tuple[RolePlan, ...]) -> None:
    identity.converge(server.keystone, plan(**domains), Changes(check=False), {})


def ran(server: Server, *, check: bool = False, fault: str = "", **domains: tuple[RolePlan, ...]) -> Changes:
    changes = Changes(check=check)
    faults = {fault: GroundupError("down", where="x", why="x", remedy="x")} if fault else {}
    identity.converge(server.keystone, plan(**domains), changes, faults)
    return changes


def test_roles_are_given_once_and_a_dry_run_writes_nothing() -> None:
    server = Server()
    assert ran(server, corp=(MEMBER, READER), check=True).done == GIVEN
    assert server.written == []
    assert ran(server, corp=(MEMBER, READER)).done == GIVEN
    ops = server.named("projects", "ops")["id"]
    assert server.given == {f"/projects/{ops}/groups/g/roles/m", "/domains/c/groups/g/roles/r"}
    before = len(server.written)
    assert ran(server, corp=(MEMBER, READER)).done == []
    assert len(server.written) == before


def test_only_what_a_run_gave_is_taken_back() -> None:
    server = Server()
    server.given.add("/domains/c/groups/g/roles/r")  # by hand, before the site file said so
    ran(server, corp=(MEMBER, READER))
    assert ran(server, corp=(), check=True).done == TAKEN[:1]
    assert ran(server, corp=()).done == TAKEN[:1]
    assert server.given == {"/domains/c/groups/g/roles/r"}
    assert ran(server, corp=()).done == []


def test_of_the_last_domain_that_leaves_the_site_file_roles_are_taken_back_and_what_stays_is_told() -> None:
    server = Server()
    ran(server, corp=(MEMBER, READER))
    assert ran(server, check=True).done == TAKEN
    changes = ran(server)
    assert changes.done == TAKEN
    assert "domain corp is no longer in the site file" in changes.warnings[0]
    assert server.given == set()
    again = ran(server)
    assert (again.done, again.warnings) == ([], changes.warnings), "its users log in as before"
    server.objects["/domains"]["c"]["enabled"] = False
    assert ran(server).warnings == []


def test_domains_of_others_are_left_alone_and_the_clouds_own_whatever_their_property_says() -> None:
    server = Server()
    server.given.add("/domains/c/groups/g/roles/r")
    server.objects["/domains"]["default"][MARK] = {"/domains/c/groups/g/roles/r": "a role"}
    changes = ran(server)
    assert (changes.done, changes.warnings, server.written) == ([], [], [])


@pytest.mark.parametrize(
    ("role", "said"),
    [
        (RolePlan(group="nobody", role="member", project="ops", domain="Default"), "has no group nobody"),
        (RolePlan(group="staff", role="boss", project="ops", domain="Default"), "no role boss"),
        (RolePlan(group="staff", role="member", project="ops", domain="else"), "no domain else"),
    ],
)
def test_what_is_not_there_is_named(role: RolePlan, said: str) -> None:
    server = Server()
    with pytest.raises(GroundupError, match=said):
        ran(server, corp=(role,))
    assert not server.given
    with pytest.raises(GroundupError, match="Keystone has no domain else"):
        converged(Server(), **{"else": (MEMBER,)})


def test_a_role_of_a_group_that_its_directory_no_longer_shows_is_taken_back() -> None:
    server = Server()
    ran(server, corp=(READER,))
    server.hidden.add("g")
    assert ran(server, corp=()).done == TAKEN[1:]
    assert server.given == set(), "a group of that name, made anew, would have it"


def test_a_directory_that_is_down_keeps_its_roles_and_no_other_ones() -> None:
    server = Server()
    server.add("domains", "o", name="other", enabled=True)
    server.add("groups", "h", name="staff", domain_id="o")
    own = RolePlan(group="staff", role="reader", project="demo", domain="Default")
    ran(server, corp=(READER,), other=(own,))
    server.down.add("c")
    with pytest.raises(GroundupError, match="down"):
        ran(server, fault="corp", corp=(), other=())
    assert server.given == {"/domains/c/groups/g/roles/r"}


def test_roles_of_a_former_directory_that_is_down_are_not_forgotten_and_what_ends_them_is_told() -> None:
    server = Server()
    ran(server, corp=(READER,))
    server.down.add("c")
    with pytest.raises(GroundupError, match="roles of domain corp, which is no longer") as caught:
        ran(server)
    assert "openstack domain set --disable corp" in caught.value.remedy
    server.down.clear()
    assert ran(server).done == TAKEN[1:]
    assert server.given == set()


def test_what_a_killed_run_gave_is_taken_back() -> None:
    server = Server()

    def send(method: str, path: str, body: object) -> Answer:
        answer = server.send(method, path, body)
        if method == "PUT":
            raise KeyboardInterrupt
        return answer

    with pytest.raises(KeyboardInterrupt):
        identity.converge(type(server.keystone)(send), plan(corp=(READER,)), Changes(check=False), {})
    assert server.given == {"/domains/c/groups/g/roles/r"}
    ran(server, corp=())
    assert server.given == set()


@pytest.mark.parametrize("mark", ["x", ["/a"], {"/users/1": "a"}, {"/projects/../x/groups/g/roles/r": "a"}, {"/a": 1}])
def test_a_list_that_no_run_wrote_deletes_nothing(mark: object) -> None:
    server = Server()
    server.objects["/domains"]["c"][MARK] = mark
    for domains in ({"corp": (READER,)}, {}):
        with pytest.raises(GroundupError, match="is no list that a run wrote"):
            converged(server, **domains)
    assert server.written == []


def test_a_group_or_project_whose_name_looks_alike_gets_and_gives_nothing() -> None:
    server = Server()
    server.add("projects", "x", name="Démo", domain_id="default")
    del server.objects["/projects"]["d"]
    role = RolePlan(group="staff", role="reader", project="demo", domain="Default")
    assert ran(server, corp=(role,), check=True).done[0] == "create project demo of domain Default"
    server.add("groups", "twin", name="Staff", domain_id="c")
    with pytest.raises(GroundupError, match="2 groups are called staff"):
        ran(server, corp=(READER,))
    assert not server.given


def test_half_a_list_of_keystone_is_an_error() -> None:
    def send(*_: object) -> Answer:
        return Answer(status=200, headers={}, body={"domains": [], "truncated": True})

    with pytest.raises(GroundupError, match="list of domains is not whole"):
        identity.converge(type(Server().keystone)(send), plan(), Changes(check=False), {})
