"""What identifies a machine and its management controller in the site file."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from ....module_utils._base.identifiers import is_filler
from .base import checked_address

Serial = Annotated[str, Field(max_length=64, pattern=r"^[!-~]+( [!-~]+)*$")]


def _chassis(value: str) -> str:
    if is_filler(value):
        raise ValueError(f"{value} is a filler, which many machines have for a serial number: leave it out")
    return value


def _controller(value: str) -> str:
    try:
        return checked_address(value)
    except ValueError:
        if re.fullmatch(r"[0-9.]+", value):
            raise
        inside = value.partition("://")[2] or value
        inside = re.split(r"[/:]", inside.rpartition("@")[2])[0]
        try:
            hint = f"write {checked_address(inside)}"
        except ValueError:
            hint = "write an IPv4 address such as 10.0.0.2"
        raise ValueError(
            f"a controller is asked by https on port 443 of an IPv4 address; no port, path, name or IPv6: {hint}"
        ) from None


ChassisSerial = Annotated[Serial, AfterValidator(_chassis)]
ControllerAddress = Annotated[str, AfterValidator(_controller), Field(json_schema_extra={"format": "ipv4"})]
System = Annotated[str, Field(pattern=r"^(/redfish/v1/Systems/)?[A-Za-z0-9._:-]{1,128}/?$")]
