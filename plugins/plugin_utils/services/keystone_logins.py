"""Keystone's tokens and passwords: what the plan decides of them, and what its API shows of that."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

from ..health.verification import Check
from .record import Values

if TYPE_CHECKING:
    from ..plan.part_types import LoginPlan

TOKEN_LIFE = 3600  # seconds; what takes longer goes on by the token of the service that does it
PASSWORD_LENGTH = 12  # length is what counts (NIST SP 800-63B)
LOCKOUT = 5  # wrong passwords
AFTERLIFE = (
    48 * 3600
)  # seconds for which services may still use a token that has ended: Keystone's allow_expired_window
ROTATION = 12 * 3600  # seconds between two keys: jobs.fernet_rotate.cron of both charts
_ROTATED = "0 */12 * * *"
_SPARE = 2  # keys: the newest, which signs next, and the one that signs
_OBJECT = "Deployment/keystone-api"


def literal(text: str) -> str:
    """Return ``text`` as oslo.config has to find it: a dollar alone begins the name of another option."""
    return text.replace("$", r"\$")  # not "$$", which means something else after a backslash


def plain(literal: str) -> str:
    """Return what oslo.config reads of `literal`."""
    return literal.replace(r"\$", "$")


def keys(token_life: int) -> int:
    """Return how many Fernet keys are kept, so that each token can be read until its end."""
    return -(-(token_life + AFTERLIFE) // ROTATION) + _SPARE


def values(logins: LoginPlan) -> Values:
    conf = {
        "token": {"expiration": logins.token_life, "allow_expired_window": AFTERLIFE},
        "fernet_tokens": {"max_active_keys": keys(logins.token_life)},
        # An option that is null is left out of the file.
        "security_compliance": {name: value for name, value in logins.compliance.items() if value is not None},
    }
    return {"conf": {"keystone": conf}, "jobs": {"fernet_rotate": {"cron": _ROTATED}}}


def judge_life(issued: str, expires: str, planned: int) -> Check:
    """Check that a token lives as long as the plan says."""
    begins, ends = map(datetime.datetime.fromisoformat, (issued, expires))
    life = round((ends - begins).total_seconds())
    detail = f"{life} s" + ("" if life == planned else f", by the plan {planned}: no Keystone has read it yet")
    return Check(name="token life", ok=life == planned, detail=detail, object=_OBJECT)


def judge_passwords(answer: Any, logins: LoginPlan) -> Check:
    """Check that Keystone tells people the planned rules. ``answer``: of its domain's security_compliance."""
    said = (answer or {}).get("config", {}).get("security_compliance", {}) if isinstance(answer, dict) else {}
    planned = plain(logins.compliance["password_regex"])
    ok = said.get("password_regex") == planned
    wrong = f"Keystone asks for {said.get('password_regex') or 'nothing'}, the plan for {planned}"
    detail = plain(logins.compliance["password_regex_description"]) if ok else wrong
    return Check(name="password rules", ok=ok, detail=detail, object=_OBJECT)
