"""Tokens and passwords: rules that refuse the cloud's own accounts, or end before what they protect."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ...services.keystone_logins import AFTERLIFE, ROTATION, keys, plain
from ..form import error, warning
from ..layout.context import PlanContext
from ..types import Finding

# As the store makes them up (vault/names.py): letters and digits, a letter first.
_MADE_UP = ("aB3dEf6hIjKl9nOpQr2tUvWx5zAbCdE8", "Zy8xWvUt3rQpOn6lKjIh1fEdCb4zYxWv")
_KEY = "identity.passwords"


def check(context: PlanContext) -> Iterator[Finding]:
    """Yield findings about the rules for tokens and passwords."""
    yield from _regex(context)
    yield from _ages(context)
    if context.site.openstack.charts != "builtin":
        yield from _services(context)
    elif context.plan.identity.logins.compliance["lockout_failure_attempts"] is None and _production(context):
        yield warning("lockout-off", "identity.lockout.attempts")(
            what="no number of wrong passwords locks an account",
            why="who tries passwords of a list at the public name is never stopped",
            remedy="leave it out: five wrong ones lock an account for half an hour, and no account of a service",
        )
    yield from _keys(context)


def _production(context: PlanContext) -> bool:
    return context.layout.profile.production


def _regex(context: PlanContext) -> Iterator[Finding]:
    rules = context.site.identity.passwords
    if rules.regex is None:
        return
    try:
        expression = re.compile(plain(context.plan.identity.logins.compliance["password_regex"]))
    except re.error as fault:
        yield error("password-regex-invalid", f"{_KEY}.regex")(
            what=f"it is no regular expression: {fault}",
            why="Keystone would refuse every password that somebody sets",
            remedy="write one of Python's form, such as (?=.*[0-9])(?=.*[a-z])",
        )
        return
    if not all(map(expression.match, _MADE_UP)):
        yield error("password-regex-refuses-services", f"{_KEY}.regex")(
            what=f"a password such as {_MADE_UP[0]} does not match {rules.regex}",
            why="accounts of services have such ones, of letters and digits: Keystone would not make the accounts",
            remedy="ask for no other characters; length says more (NIST SP 800-63B, 5.1.1.2)",
        )
    if rules.explanation is None:
        yield warning("password-regex-unexplained", f"{_KEY}.explanation")(
            what="a regular expression, and no words for it",
            why="people whose password is refused are not told what to write",
            remedy='write what it asks for: explanation: "with a digit and a letter"',
        )


def _ages(context: PlanContext) -> Iterator[Finding]:
    rules = context.site.identity.passwords
    if rules.expire_days is not None and rules.minimum_days >= rules.expire_days:
        yield error("password-expires-before-change", f"{_KEY}.minimum_days", f"{_KEY}.expire_days")(
            what=f"it may be changed after {rules.minimum_days} days, and ends after {rules.expire_days}",
            why="people could not change it in time, and only an administrator could let them in again",
            remedy=f"write minimum_days below {rules.expire_days}: 1 keeps history from being run through",
        )


def _services(context: PlanContext) -> Iterator[Finding]:
    rules, lockout = context.site.identity.passwords, context.site.identity.lockout
    by_hand = "openstack user set --domain service"
    if lockout.attempts:
        yield warning("lockout-of-services", "identity.lockout.attempts")(
            what=f"{lockout.attempts} wrong passwords lock accounts of services, too",
            why="OpenStack-Helm's charts exempt none: anybody who knows the name nova stops Nova",
            remedy=f"leave it out; or exempt each: {by_hand} --ignore-lockout-failure-attempts NAME",
        )
    for name, option in (("expire_days", "--ignore-password-expiry"),
                         ("change_first", "--ignore-change-password-upon-first-use")):  # fmt: skip
        if getattr(rules, name):
            yield error("expiry-of-services", f"{_KEY}.{name}")(
                what="passwords of services end as people's do",
                why=f"OpenStack-Helm's charts exempt none (`{option}`): services would lose Keystone one after another",
                remedy=f"leave {name} out, or write charts: builtin, which exempt them",
            )


def _keys(context: PlanContext) -> Iterator[Finding]:
    """Yield an error where the site's own chart values keep keys for a shorter time than tokens live."""
    override = context.site.openstack.overrides.get("keystone")
    values: dict[str, Any] = dict(override.values) if override else {}
    life = context.plan.identity.logins.token_life
    try:
        conf, jobs = values.get("conf", {}).get("keystone", {}), values.get("jobs", {})
        token, kept = conf.get("token", {}), conf.get("fernet_tokens", {}).get("max_active_keys", keys(life))
        needed = -(
            -(int(token.get("expiration", life)) + int(token.get("allow_expired_window", AFTERLIFE))) // ROTATION
        )
        other_clock = "cron" in jobs.get("fernet_rotate", {})
        short = int(kept) < needed + 2
    except (AttributeError, TypeError, ValueError):
        return  # the plan says what is wrong with values of another kind
    if short and not other_clock:
        yield error("token-outlives-keys", "openstack.overrides.keystone.values.conf.keystone")(
            what=f"{kept} Fernet keys are kept, and tokens need {needed + 2}",
            why="a key goes after so many rotations of 12 hours: tokens that it signed end early, with a 401",
            remedy=f"write identity.token_life and leave both out; or max_active_keys: {needed + 2}",
        )
