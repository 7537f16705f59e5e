"""What a page of the documentation tells its reader to write and to run, and a shell that does so."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w+)\n(?P<text>.*?)^(?P=indent)```$", re.DOTALL | re.MULTILINE)
_FILE = re.compile(r"# (\S+\.yml)\n")
LEFT_OUT = " ".join(f"--exclude=./{one}" for one in (".run", ".git", ".hypothesis", ".mypy_cache", ".ruff_cache"))
CLONE = f"mkdir groundup.cloud && tar -C {DOCS.parent} {LEFT_OUT} -c . | tar -C groundup.cloud -x"
_PROMPT = "$ "
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"  # of a user's first shell on Debian


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a page, without its indentation."""

    language: str
    text: str

    @property
    def file(self) -> str:
        """Name of the file that the reader writes it to, which its first line says; "" for none."""
        named = _FILE.match(self.text)
        return named[1] if named else ""

    @property
    def commands(self) -> list[str]:
        """Commands that the reader types as a user, in order. Those of root (``#``) are the machine's preparation."""
        lines = self.text.splitlines() if self.language == "console" else []
        return [line.removeprefix(_PROMPT) for line in lines if line.startswith(_PROMPT)]


def blocks(page: str, section: str = "") -> Iterator[Block]:
    """Yield the blocks of docs/``page``, or of its ``section`` alone, in order."""
    text = (DOCS / page).read_text(encoding="utf-8")
    if section:
        text = text.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    for fence in _FENCE.finditer(text):
        indent = len(fence["indent"])
        yield Block(fence["language"], "".join(line[indent:] or "\n" for line in fence["text"].splitlines(True)))


class Shell:
    """A reader's shell: where it is and its environment last from one command to the next."""

    def __init__(self, home: Path, environment: Mapping[str, str]) -> None:
        """Begin in the empty directory ``home``, which is the user's home, too."""
        self.place, self._left = home, home / ".shell"
        self.environment = {**environment, "HOME": str(home)}

    def run(self, command: str) -> tuple[int, str]:
        """Run ``command``. Return its exit code, and what it printed."""
        script = f'{command}\ncode=$?; {{ pwd; env -0; }} > "$HOME/.shell"; exit $code'
        done = subprocess.run(
            ["bash", "-c", script], cwd=self.place, env=self.environment, text=True, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        place, _, variables = self._left.read_text().partition("\n")
        self.place = Path(place)
        self.environment = dict(one.split("=", 1) for one in variables.split("\0") if one)
        return done.returncode, done.stdout


def reader(home: Path, **more: str) -> Shell:
    """Return the shell of somebody who has the machine's mirrors of packages, and nothing of this clone."""
    own = ("ANSIBLE_", "GROUNDUP_", "XDG_", "PYTHON", "VIRTUAL_ENV", "PYENV_", "SITE")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(own)}
    pip = Path.home() / ".config/pip/pip.conf"
    settings = {"PIP_CONFIG_FILE": str(pip)} if pip.exists() else {}
    cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    settings |= {"PIP_CACHE_DIR": f"{cache}/pip", "PIP_NO_COMPILE": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return Shell(home, {**kept, **settings, "PATH": _PATH, "LC_ALL": "C.UTF-8", **more})


def install() -> tuple[list[str], list[str]]:
    """Return the commands of docs/install.md before the Python packages, and the others.

    A copy of this tree is the clone. Not a link: the build leaves out links to directories whose real path is outside
    the path that it is given.
    """
    commands = [command for block in blocks("install.md", "Install") for command in block.commands]
    commands = [CLONE if one.startswith("git clone") else one for one in commands]
    (packages,) = (number for number, one in enumerate(commands) if "--require-hashes" in one)
    return commands[:packages], commands[packages:]


def do(shell: Shell, command: str) -> str:
    """Run ``command``, which must end well. Return what it printed."""
    code, said = shell.run(command)
    assert code == 0, f"{command}\n{said}"
    return said
