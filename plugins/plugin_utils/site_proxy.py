"""Fetch through the site's proxy: for the control node's way to the internet, never for the site's own traffic."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..module_utils._base.files import write_file
from ..module_utils._base.run import direct
from .errors import GroundupError
from .paths import cache_dir
from .supply.make import machine
from .vault import Store, open_store
from .vault.given import giving

_SCHEMES = ("http", "https")
NOBODY = "who is not known there gets nothing: nothing could be fetched"
LOGIN_FORM = "'user:password'"


@contextmanager
def fetching(site: Mapping[str, Any] | None) -> Iterator[None]:
    """Give this process, and what it starts, the proxy of ``site``, as ``groundup_site`` has it; without one, nothing.

    The login is in the environment only, and in no error. Raises GroundupError when it is not given.
    """
    proxy = (site or {}).get("proxy")
    if not site or not proxy:
        yield
        return
    login = (
        given_login(open_store(site["site"], write=False), proxy["login"], key="proxy.login") if proxy["login"] else ""
    )
    before = dict(os.environ)
    during = direct(before) | _variables(proxy, login)
    try:
        os.environ.clear()
        os.environ.update(during)
        yield
    except GroundupError as error:
        parts = {name: getattr(error, name) for name in ("what", "where", "why", "remedy")}
        clean = {name: machine.clean(text.encode()).decode() for name, text in parts.items()}
        if clean == parts:
            raise
        raise GroundupError(**clean) from None
    finally:
        os.environ.clear()
        os.environ.update(before)


def given_login(store: Store, name: str, *, key: str) -> str:
    """Return the secret ``name``, user:password, as a URL has it. Raises GroundupError when it is not given."""
    found = "" if store.lacking([name]) else store.get(name)
    user, colon, word = found.partition(":")
    if not (user and colon and word):
        raise GroundupError(
            f"the secret {name} is {'not user:password' if found else 'not given'}",
            where=f"{store.path}; {key} of the site file",
            why=NOBODY,
            remedy=f"{giving({name: LOGIN_FORM})}; to change it, `ansible-vault edit` the store",
        )
    return f"{quote(user, safe='')}:{quote(word, safe='')}"


def _variables(proxy: Mapping[str, Any], login: str) -> dict[str, str]:
    """Return the environment of fetches: names in both cases, because no client reads both."""
    at = {scheme: proxy[scheme].replace("://", f"://{login}@") if login else proxy[scheme] for scheme in _SCHEMES}
    found = {f"{scheme}_proxy": url for scheme, url in at.items()} | {"no_proxy": ",".join(proxy["no_proxy"])}
    found |= {name.upper(): value for name, value in found.items()} | {machine.PROXIED: "site"}
    return found | (
        dict.fromkeys((machine.BUNDLE, *machine.TRUSTED_BY), str(_bundle(proxy["ca"]))) if proxy["ca"] else {}
    )


def _bundle(ca: str) -> Path:
    """Return a file with the CAs of this machine and ``ca``."""
    own = Path(machine.CA_BUNDLE)
    text = f"{own.read_text(encoding='utf-8') if own.is_file() else ''}\n{ca.strip()}\n".encode()
    path = cache_dir() / "trust" / f"{hashlib.sha256(text).hexdigest()[:16]}.crt"
    if not path.is_file():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_file(path, text, mode=0o644)
    return path
