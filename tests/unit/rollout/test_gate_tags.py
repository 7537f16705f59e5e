"""Images whose tags tell no release of OpenStack: what they would bring is not known."""

from __future__ import annotations

from .test_gate import REGISTRY, judge, release, stateful


def test_images_whose_tags_tell_no_release_are_not_exchanged_unasked() -> None:
    def step(before: str, after: str, *, of: str = "nova") -> list[str]:
        runs, objects = ((stateful(3, image=f"{REGISTRY}/it:{tag}"),) for tag in (before, after))
        return [*judge(release(of), live="2026.1.0", runs=runs, objects=objects)]

    assert step("7", "8") == step("7", "2026.1") == ["release-unknown"]
    assert step("7", "7") == step("2026.1", "8") == []
    assert step("7", "8", of="mariadb") == [], "it has none"
