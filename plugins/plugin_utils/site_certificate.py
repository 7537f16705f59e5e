"""Hand over a new certificate of the public names with its key: checked together, before either replaces another."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..module_utils._base import files
from ..module_utils._base.changes import Changes
from .errors import GroundupError
from .pki import PkiError, belongs, check_key
from .plan import Plan, load_site, make_plan
from .plan.findings.certificates import CERTIFICATE
from .plan.input.load import with_files
from .plan.input.reader import named_file
from .plan.model import Site
from .plan.types import Finding
from .vault import Store, open_store
from .vault.names import EDGE_KEY, EDGE_NEXT


def hand_over(changes: Changes, site_file: str, *, certificate_file: str | None, key_file: str) -> dict[str, Any]:
    """Keep a new pair: the certificate beside the site file, the key in the secrets store. Return the step's result.

    ``certificate_file`` None: the file beside the site file is the new one already. Raises GroundupError, OSError.
    """
    site, key = load_site(site_file), _key(key_file)
    if not site.edge.certificate:
        raise GroundupError(
            "the site has no certificate of its own",
            where=f"{CERTIFICATE} of {site_file}",
            why="the site's CA issues the one of the public names, and no other would be used",
            remedy=f"write {CERTIFICATE}: <file beside the site file>.pem, and run this again",
        )
    before = make_plan(site)
    place = Path(site_file).parent / site.edge.certificate
    given = named_file(Path(certificate_file) if certificate_file else place)
    plan = _checked(with_files(site, {**site.files, site.edge.certificate: given}, now=datetime.now(UTC)))
    check_key(plan.edge.certificate, key)
    store = open_store(plan.site, write=not changes.check)
    if store.items().get(EDGE_KEY) != key:  # a run that is killed before the end leaves both, and `settle` chooses
        store.take({EDGE_NEXT: key}, replacing=[EDGE_NEXT])
    files.place(changes, place.resolve(), given.text)
    for name in store.take({EDGE_KEY: key}, replacing=[EDGE_KEY]):
        changes.add(f"keep secret {name}")
    store.forget([EDGE_NEXT])
    if before.edge.certificate and before.edge.public_root != plan.edge.public_root:
        changes.warnings.append("it ends with another CA than before: run groundup.cloud.site, so that pods trust it")
    return {**changes.result(), "msg": "; ".join(changes.done) or "this pair is kept already"}


def settle(plan: Plan, store: Store, given: Mapping[str, str]) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """Return ``given`` with the key of a pair whose hand-over was cut short, and the names of keys to forget.

    The key that is given or kept belongs to the certificate, or nothing is changed. Raises PkiError.
    """
    certificate, kept = plan.edge.certificate, store.items()
    if not certificate and _faults(plan):  # the field is there, and its file is not
        return given, ()
    if not certificate:
        if EDGE_KEY in given:
            raise PkiError(
                f"{EDGE_KEY} is given, and the site has no certificate of its own",
                where=f"{CERTIFICATE} of the site file",
                why="no host would use the key: the site's CA issues the certificate of the public names",
                remedy=f"write {CERTIFICATE}, or leave the key out",
            )
        return given, (EDGE_KEY, EDGE_NEXT)
    if EDGE_KEY not in given and belongs(certificate, kept.get(EDGE_NEXT, "")):
        given = {**given, EDGE_KEY: kept[EDGE_NEXT]}
    key = given.get(EDGE_KEY, kept.get(EDGE_KEY))
    if key is not None:
        check_key(certificate, key)
    return given, (EDGE_NEXT,)


def _key(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8-sig").strip()
    except UnicodeDecodeError:
        raise GroundupError(
            "the key is not text",
            where=file,
            why="it is kept in PEM",
            remedy="from DER: openssl pkey -inform DER -in KEY -out NEW; from PKCS #12: openssl pkcs12 -nodes -nocerts",
        ) from None


def _checked(site: Site) -> Plan:
    plan = make_plan(site)
    for one in _faults(plan):
        raise GroundupError(f"{one.what} ({one.name})", where=CERTIFICATE, why=one.why, remedy=one.remedy)
    return plan


def _faults(plan: Plan) -> list[Finding]:
    return [one for one in plan.findings if one.severity == "error" and CERTIFICATE in one.where]
