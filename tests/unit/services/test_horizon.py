"""Horizon's verifier: a login as a browser makes it, the page of one's own project, and a logout that is one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qs

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.https import Answer, UnansweredError
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import RECORDS
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.browsing import LOGIN, Browser, judge
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.secrets import secrets

URL = "https://dashboard.test"
API = "https://identity.test/v3"
PAGE = f'<a class="user">admin</a> <span>Default &bull; <b>demo</b></span> <td>{API}</td>'


@dataclass
class Dashboard:
    """Takes one password, and forms with its token and its cookie alone."""

    broken: bool = False
    inside: bool = False
    seen: list[str] = field(default_factory=list)

    def __call__(self, method: str, url: str, *, body: bytes | None, headers: Mapping[str, str]) -> Answer:
        path = url.removeprefix(URL)
        self.seen.append(f"{method} {path}")
        if self.broken:
            return answer(500)
        if method == "POST":
            form = {name: values[0] for name, values in parse_qs((body or b"").decode()).items()}
            if form["csrfmiddlewaretoken"] != "t0k&n" or "csrftoken=c1" not in headers["Cookie"]:
                return answer(403)
            self.inside = path == LOGIN and form.get("password") == "pass&word"
            return answer(302, location="/", cookies=("sessionid=s1; Path=/; Secure",)) if self.inside else form_page()
        if path == LOGIN:
            return form_page()
        if self.inside and "sessionid=s1" in headers["Cookie"]:
            return answer(200, text=PAGE)
        return answer(302, location=f"{LOGIN}?next={path}")


def answer(status: int, *, text: str = "", location: str = "", cookies: tuple[str, ...] = ()) -> Answer:
    headers = {"location": location} if location else {}
    return Answer(status=status, headers=headers, body=None, data=text.encode(), cookies=cookies)


def form_page() -> Answer:
    hidden = '<input type="hidden" name="csrfmiddlewaretoken" value="t0k&amp;n">'
    return answer(200, text=hidden, cookies=("csrftoken=c1; expires=Mon, 22 Nov 2027 01:00:00 GMT; Secure", "a=b"))


def visit(dashboard: Dashboard, password: str) -> tuple[Answer, Answer, Answer]:
    browser = Browser(ask=dashboard, url=URL)
    browser.open(LOGIN)
    login = browser.submit(LOGIN, username="admin", password=password)
    page = browser.open("/project/api_access/")
    browser.submit("/auth/logout/")
    return login, page, browser.open("/project/api_access/")


def verdicts(login: int, page: str, after: str) -> dict[str, bool]:
    checks = judge(login=login, page=page, after=after, user="admin", project="demo", api=API)
    return {check.name: check.ok for check in checks}


def test_a_login_shows_the_users_own_project_and_ends_with_the_logout() -> None:
    dashboard = Dashboard()
    login, page, after = visit(dashboard, "pass&word")
    found = verdicts(login.status, page.data.decode(), after.headers["location"])
    assert found == {"login": True, "page": True, "logout": True}
    assert dashboard.seen[1] == f"POST {LOGIN}"


def test_a_password_that_is_not_taken_is_a_matter_of_credentials() -> None:
    login, page, after = visit(Dashboard(), "wrong")
    assert verdicts(login.status, page.data.decode(), after.headers["location"])["login"] is False
    checks = judge(login=login.status, page="", after=LOGIN, user="admin", project="demo", api=API)
    assert checks[0].layer == "credentials"
    assert "pass" in checks[0].detail


@pytest.mark.parametrize(("lost", "named"), [("demo", "project demo"), ("admin", "user admin"), (API, API)])
def test_a_page_that_is_not_the_users_own_is_not_enough(lost: str, named: str) -> None:
    checks = judge(login=302, page=PAGE.replace(lost, "other"), after=LOGIN, user="admin", project="demo", api=API)
    assert [check.ok for check in checks] == [True, False, True]
    assert named in checks[1].detail


def test_a_session_that_outlives_its_logout_is_a_failure() -> None:
    assert verdicts(302, PAGE, "") == {"login": True, "page": True, "logout": False}


def test_a_dashboard_that_fails_is_no_answer() -> None:
    with pytest.raises(UnansweredError, match="500"):
        visit(Dashboard(broken=True), "pass&word")


def test_a_page_without_a_form_is_answered_by_none() -> None:
    with pytest.raises(UnansweredError, match="no form"):
        Browser(ask=Dashboard(), url=URL).submit(LOGIN)


def test_it_has_no_account_in_keystone() -> None:
    assert {name for name in secrets() if name.startswith("horizon/")} == {"horizon/db", "horizon/secret-key"}
    assert RECORDS["horizon"].nobody_at == ("keystone",)
