"""The object store's verifier: an object is what was put, and nobody has it without a token."""

from __future__ import annotations

import pytest
from ansible_collections.groundup.cloud.plugins.plugin_utils.services.ceph_rgw import judge_object, judge_refusal


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
