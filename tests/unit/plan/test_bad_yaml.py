"""A site file that is no plain YAML is refused at its line, whatever is in it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from ansible_collections.groundup.cloud.plugins.plugin_utils.plan import SiteError, load_site, parse_site
from ansible_collections.groundup.cloud.tests.unit.plan.refusal import LAB, refused


@pytest.mark.parametrize("text", ["", "---\n", "# only a comment\n", "null"])
def test_an_empty_file_is_called_empty(text: str) -> None:
    assert refused(text).problems[0].reason == "the file is empty"


@pytest.mark.parametrize("text", ["- a\n- b\n", "just words", "3"])
def test_a_file_that_is_no_mapping_is_refused(text: str) -> None:
    assert "not a mapping" in refused(text).problems[0].reason


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: [1, 2\nb: 3\n", "line 2"),
        ("a: 1\n\tb: 2\n", "line 2"),
        ("a: 'x\n", "line 2"),
        ("a: !!python/object/apply:os.system ['true']\n", "line 1"),
        ("a: 1\n---\nb: 2\n", "line 2"),
        ("a: {? [x] : 1}\n", "line 1"),
    ],
)
def test_broken_yaml_is_refused_with_its_line(text: str, line: str) -> None:
    assert refused(text).problems[0].key.startswith(line)


def test_a_key_written_twice_is_refused_with_both_lines() -> None:
    error = refused(LAB + "profile: edge\n")
    assert error.problems[0].key.startswith("line 8")
    assert "first on line 4" in error.problems[0].reason


def test_aliases_are_refused_before_they_expand() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30))
    assert "alias" in refused(bomb).problems[0].reason  # expanded, it would outgrow any memory


def test_a_structure_that_contains_itself_is_refused() -> None:
    assert "alias" in refused("a: &a {b: *a}\n").problems[0].reason


def test_merge_keys_are_refused() -> None:
    assert "merge key" in refused("x: {<<: {a: 1}}\n").problems[0].reason


@pytest.mark.parametrize("text", ["[" * 100_000, "{a: " * 100_000, "- " * 100_000])
def test_bottomless_nesting_is_refused(text: str) -> None:
    problem = refused("x: " + text).problems[0]
    assert "nested deeper" in problem.reason or problem.key.startswith("line")


def test_a_file_of_50_mb_is_refused_without_being_parsed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml, "load", lambda *_arguments, **_options: pytest.fail("it was parsed"))
    path = tmp_path / "site.yml"
    path.write_bytes(b"a: b\n" * 10_000_000)
    with pytest.raises(SiteError, match="larger than 4 MiB"):
        load_site(path)


@pytest.mark.parametrize(
    "content", [b"\xff\xfe\x00", b"site: \x80\n", "site: lab\n".encode("utf-16"), b"site: a\x00b\n"]
)
def test_bytes_that_are_no_text_are_refused(content: bytes) -> None:
    refused(content)


@pytest.mark.parametrize("number", ["010", "0x10", "0b1", "1_000", "1:30"])
def test_a_number_that_yaml_reads_otherwise_than_it_looks_is_refused(number: str) -> None:
    error = refused(LAB + f"access: {{port: {number}}}\n")
    assert f"YAML reads {number} as the number {int(yaml.safe_load(number))}" in error.problems[0].reason
    assert error.problems[0].key.startswith("line 8")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LAB.replace("  seed:", "\tseed:"), "line 6.*there is a tab on that line: YAML is indented with spaces"),
        (LAB.replace("lab.test", "lab.te\0st"), "line 3: a character that YAML does not take"),
        (LAB + "edge: !vault x\n", "line 8.*the tag '!vault' is not accepted.*secrets are named"),
        (LAB + "edge: !!python/object/apply:os.system [true]\n", "line 8.*is not accepted"),
    ],
    ids=["tab", "nul", "vault", "python"],
)
def test_text_that_is_no_plain_yaml_is_refused_at_its_line(text: str, said: str) -> None:
    assert re.search(said, str(refused(text)))


@pytest.mark.parametrize(
    "value",
    ["!!bool maybe", "!!int ''", "!!float ''", "!!timestamp noon", "!!map [a]", "!!set [a]", "!!str 1.36", "! a"],
)
def test_a_tag_is_refused_where_it_stands_whether_its_value_fits_or_not(value: str) -> None:
    error = refused(LAB + f"kubernetes: {{version: {value}}}\n")
    assert error.problems[0].key.startswith("line 8")
    assert "is not accepted" in error.problems[0].reason


def test_a_byte_order_mark_and_a_windows_file_are_read() -> None:
    assert parse_site(b"\xef\xbb\xbf" + LAB.replace("\n", "\r\n").encode()).site == "lab"
