"""A person's first hour, in a real browser: log in, look around, launch an instance through the form.

Needs inventories/cloud/site.yml. GROUNDUP_SCREENSHOTS=docs/images writes the pictures of docs/dashboard.md.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.guest_image import guest_image
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan.types import Plan
from ansible_collections.groundup.cloud.tests.browser import missing, of_site
from ansible_collections.groundup.cloud.tests.e2e.waiting import until

pytestmark = pytest.mark.lab
INSTANCE, VOLUME, CONTAINER = "first-hour-1", "first-hour-data", "first-hour-box"
_PATIENCE = 120.0  # seconds a state may take to come on a loaded machine
# Points of a picture that are not dark: of a console that shows text there are thousands.
_LIT = """canvas => {
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  return data.filter((value, at) => at % 4 === 0 && value > 96).length;
}"""


@pytest.fixture(scope="module")
def person(outside: Callable[..., Any]) -> Iterator[dict[str, str]]:
    """Someone with a project, a password, an image, a flavor and a network."""
    yield outside("person.py", "make", str(guest_image(None, progress=print)))
    outside("person.py", "delete")


@pytest.fixture(scope="module")
def page(plan: Plan, state: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One browser's page: it stays logged in from test to test."""
    if lacks := missing():
        pytest.skip(f"ci/bootstrap browser installs {lacks}")
    home = tmp_path_factory.mktemp("browser")
    with of_site(plan, authority=state / "ca.crt", home=home, timeout=_PATIENCE) as found:
        try:
            yield found
        finally:
            found.screenshot(path=home / "last.png")
            print(f"the last page: {found.url}, {home}/last.png")


@pytest.fixture(scope="module")
def url(plan: Plan) -> str:
    """The dashboard's address, as a person writes it."""
    return next(end.url for end in plan.edge.endpoints if end.service == "horizon").rstrip("/")


def picture(page: Any, name: str) -> None:
    """Keep what is seen for the documentation, where somebody asked for it."""
    if place := os.environ.get("GROUNDUP_SCREENSHOTS"):
        page.screenshot(path=Path(place) / f"dashboard-{name}.png")


def log_in(page: Any, url: str, user: str, password: str) -> None:
    page.goto(f"{url}/")
    page.fill("#id_username", user)
    page.fill("#id_password", password)
    picture(page, "login")
    page.click("button[type=submit]")


def shown(page: Any, text: str) -> Any:
    """Wait until a text is seen; return where."""
    found = page.get_by_text(text).first
    found.wait_for()
    return found


def row(page: Any, name: str) -> Any:
    """Return the row of a table that holds a name."""
    return page.locator("tbody tr", has_text=name).first


def menu(page: Any, name: str, action: str) -> Any:
    """Choose from the menu of a row; return the form that comes."""
    found = row(page, name)
    found.locator(".dropdown-toggle").click()
    found.locator("a.data-table-action", has_text=action).click()
    return page.locator("#modal_wrapper .modal-content").last


def choose(form: Any, field: str, text: str) -> None:
    """Choose from a list of a form."""
    listed = form.locator(f".themable-select:has(select[name={field}])")
    listed.locator("button").click()
    listed.locator("li a", has_text=text).click()


def send(page: Any, form: Any) -> None:
    """Send a form; it ends with a page."""
    with page.expect_navigation():
        form.locator("input[type=submit]").click()


def becomes(page: Any, where: str, name: str, text: str) -> None:
    """Open a page again and again until a row of it has a text."""

    def found() -> bool:
        page.goto(where)
        return bool(page.locator("tbody tr", has_text=name).filter(has_text=text).count())

    until(found, seconds=_PATIENCE)


def test_a_wrong_password_is_refused(page: Any, url: str, person: dict[str, str]) -> None:
    log_in(page, url, person["user"], "wrong")
    shown(page, "Invalid credentials")
    assert "/auth/login" in page.url


def test_a_person_sees_the_own_project(page: Any, url: str, person: dict[str, str]) -> None:
    log_in(page, url, person["user"], person["password"])
    shown(page, "Limit Summary")
    assert "/project" in page.url
    assert person["project"] in page.locator("nav.navbar").inner_text()
    cookies = {cookie["name"]: cookie for cookie in page.context.cookies()}
    assert cookies["csrftoken"]["secure"]
    assert (cookies["sessionid"]["secure"], cookies["sessionid"]["httpOnly"]) == (True, True)
    picture(page, "overview")


@pytest.mark.long
def test_the_image_is_there(page: Any, url: str, person: dict[str, str]) -> None:
    page.goto(f"{url}/project/images")
    image = row(page, person["image"])
    image.wait_for()
    assert "Active" in image.inner_text()
    picture(page, "images")


@pytest.mark.long
def test_an_instance_is_launched_through_the_form(page: Any, url: str, person: dict[str, str]) -> None:
    failed: list[str] = []
    page.on("response", lambda answer: failed.append(unquote(answer.url)) if answer.status >= 500 else None)
    page.goto(f"{url}/project/instances/")
    page.click("#instances__action_launch-ng")
    form = page.locator(".modal-content")
    form.locator("input[name=name]").fill(INSTANCE)
    for step, what in (("Source", person["image"]), ("Flavor", person["flavor"])):
        form.locator(".wizard-nav .nav-item", has_text=step).click()
        if step == "Source":  # the first choice is whichever list came first
            form.locator("#boot-source-type").select_option(label="Image")
        form.locator(".step:visible .transfer-available tr", has_text=what).locator("button").first.click()
    picture(page, "launch")
    form.locator("button.finish:enabled").click()  # with one network, that one is chosen
    instance = row(page, INSTANCE)
    instance.get_by_text("Active", exact=True).wait_for()  # the page itself asks again until it is
    assert "192.168.124." in instance.inner_text()
    assert failed == [], "a request of the form failed"
    picture(page, "instance")


@pytest.mark.long
def test_a_volume_is_made_and_attached_through_forms(page: Any, url: str) -> None:
    page.goto(f"{url}/project/volumes/")
    page.click("#volumes__action_create")
    form = page.locator("#modal_wrapper .modal-content").last
    form.locator("input[name=name]").fill(VOLUME)
    send(page, form)
    becomes(page, f"{url}/project/volumes/", VOLUME, "Available")
    page.goto(f"{url}/project/instances/")
    form = menu(page, INSTANCE, "Attach Volume")
    choose(form, "volume", VOLUME)
    picture(page, "attach")
    send(page, form)
    becomes(page, f"{url}/project/volumes/", VOLUME, "In-use")
    assert f"on {INSTANCE}" in row(page, VOLUME).inner_text()
    picture(page, "volume")


@pytest.mark.long
def test_a_floating_ip_is_given_through_the_form_and_answers(page: Any, url: str, plan: Plan) -> None:
    network = plan.networks["provider"].cidr.rpartition(".")[0]
    page.goto(f"{url}/project/instances/")
    form = menu(page, INSTANCE, "Associate Floating IP")
    form.locator("a.ajax-add").click()
    more = page.locator("#modal_wrapper .modal-content", has_text="Allocate Floating IP").last
    more.locator("input[type=submit]").click()
    found = form.locator("select[name=ip_id] option", has_text=network)
    found.wait_for(state="attached")
    address = found.inner_text()
    form.locator("input[type=submit]").wait_for()
    picture(page, "address")
    send(page, form)
    becomes(page, f"{url}/project/instances/", INSTANCE, address)
    ping = ["ping", "-c", "1", "-W", "1", address]
    until(lambda: subprocess.run(ping, check=False, capture_output=True).returncode == 0, seconds=_PATIENCE)


@pytest.mark.long
def test_the_console_shows_the_instances_screen(page: Any, url: str) -> None:
    page.goto(f"{url}/project/instances/")
    menu(page, INSTANCE, "Console")
    console = page.frame_locator("#console_embed")
    console.locator("#status", has_text="Connected to").wait_for()
    screen = console.locator("#screen canvas").first
    until(lambda: screen.evaluate(_LIT) > 1000, seconds=_PATIENCE)
    picture(page, "console")


@pytest.mark.long
def test_a_container_is_made_through_the_page(page: Any, url: str, plan: Plan) -> None:
    if "ceph-rgw" not in plan.openstack.services:
        pytest.skip("the site has no object store (ceph-rgw)")
    with page.expect_response("**/api/swift/policies/"):
        page.goto(f"{url}/project/containers/")
    page.locator(".hz-container-action button").click()
    form = page.locator(".modal-content")
    # The form asks whether there is one of that name. Sent before the answer, it would make one named `undefined`.
    with page.expect_response(f"**/api/swift/containers/{CONTAINER}/metadata/"):
        form.locator("input[name=name]").fill(CONTAINER)
    form.locator("input[name=name].ng-valid:not(.ng-pending)").wait_for()
    # A form that was opened before the policies came has none chosen, and cannot be sent.
    policy = form.locator("select[name=policy]")
    first = policy.locator("option:not([value='?']):not([value=''])").first
    first.wait_for(state="attached")
    policy.select_option(value=first.get_attribute("value"))
    form.locator("button.btn-primary:enabled").click()
    made = page.locator(".hz-container-title", has_text=CONTAINER)
    made.wait_for()
    page.reload()
    made.wait_for()
    picture(page, "container")


def test_a_person_who_logged_out_is_out(page: Any, url: str) -> None:
    page.goto(f"{url}/project/")
    page.click(".user-menu > a")
    page.get_by_text("Sign Out").click()
    page.locator("#id_username").wait_for()
    page.goto(f"{url}/project/instances/")
    assert "/auth/login" in page.url
