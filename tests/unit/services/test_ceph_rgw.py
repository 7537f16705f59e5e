"""The object store's verifier: an object is what was put, and nobody has it without a token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.https import Answer
from ansible_collections.groundup.cloud.plugins.plugin_utils.services import ceph_rgw
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.ceph_rgw import judge_object, judge_refusal
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.keystone import Token
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.probing import PROBE, Client


def test_an_object_that_comes_back_is_well_and_another_is_not() -> None:
    assert judge_object(sent=b"abc", back=b"abc").ok
    wrong = judge_object(sent=b"abc", back=b"ab")
    assert (wrong.ok, wrong.layer, wrong.object) == (False, "volume", "radosgw on the storage hosts")
    assert wrong.detail == "2 other bytes come back of 3"


@pytest.mark.parametrize(("status", "ok"), [(401, True), (403, True), (200, False), (404, False), (503, False)])
def test_who_has_no_token_is_refused(status: int, ok: bool) -> None:
    check = judge_refusal(status)
    assert check.ok == ok
    assert ok or str(status) in check.detail


class Swift:
    """A gateway: an object is in a container that is there, and one that is there is not made again."""

    def __init__(self, *left: str) -> None:
        self.things: dict[str, bytes] = dict.fromkeys(left, b"old")

    def request(self, method: str, url: str, *, body: Any = None, headers: Mapping[str, str] | None = None) -> Answer:
        path = url.removeprefix("https://objects.test")
        status, data = 404, b""
        if not headers:
            status = 401
        elif method == "PUT":
            status = 202 if path in self.things and path.count("/") == 1 else 201
            self.things[path] = body
        elif method == "GET":
            status, data = (200, self.things[path]) if path in self.things else (404, b"")
        elif method == "DELETE" and path in self.things:
            full = any(one.startswith(f"{path}/") for one in self.things)
            status = 409 if full else 204
            if not full:
                del self.things[path]
        return Answer(status=status, headers={}, body=None, data=data)


@pytest.mark.parametrize("left", [(), (f"/{PROBE}",), (f"/{PROBE}", f"/{PROBE}/{PROBE}")])
def test_what_a_killed_run_left_is_not_in_the_way_of_the_next(left: tuple[str, ...]) -> None:
    swift = Swift(*left)
    catalog = [{"type": "object-store", "url": "https://objects.test"}]
    token = Token(id="its-id", project="admin", expires="later", catalog=catalog)
    checks = ceph_rgw._ask(Client(context=cast("Any", swift), url="", token=token))
    assert [check.ok for check in checks] == [True, True]
    assert swift.things == {}
