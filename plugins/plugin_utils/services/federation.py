"""Logins by providers (OpenID Connect): Apache's mod_auth_openidc before Keystone, and the dashboard's buttons.

A provider has a virtual host of its own at the pod's loopback, which serves nothing but its logins, and only what
mod_auth_openidc has confirmed. Claims reach Keystone in the environment of a request, where no header of a client can
be; nothing is passed on by headers. All state of a login is in the browser's cookies, encrypted with a key of each
provider, so that any pod can finish it, and no other provider's host takes it for its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .parts import public_endpoint
from .record import Values

if TYPE_CHECKING:
    from ..plan.part_types import IdentityProviderPlan
    from ..plan.types import Plan

PROTOCOL = "openid"
# Of accounts that the cloud runs by, in the spelling Keystone compares names by: no one else's users may be there.
OWN_DOMAINS = ("default", "service", "heat", "magnum")
CLAIM = "OIDC_CLAIM_"  # how mod_auth_openidc names a claim in the environment, where no client can write
ISSUER = "OIDC_ISSUER"  # whose login it was; Apache's configuration writes it
SESSIONS = "keystone/login-sessions"  # the secret that encrypts cookies of logins that are under way
DISCOVERY = "/.well-known/openid-configuration"
_FIRST_PORT = 5101
_AUTHORITIES = "/etc/keystone/providers"
_MODULES = ("proxy", "proxy_http", "auth_openidc")
ESCAPED = (";", "%3B")  # Keystone's own separator of values, and how it is written in a value
_SEPARATOR = "\x1f"  # between values of a claim: what no provider lets a user call a group


def login_path(name: str) -> str:
    """Return the path at Keystone's public name that sends a browser to a provider."""
    return f"{_place(name)}/websso"


def token_path(name: str) -> str:
    """Return the path that takes a provider's access tokens."""
    return f"/v3/OS-FEDERATION/identity_providers/{name}/protocols/{PROTOCOL}/auth"


def redirect_path(name: str) -> str:
    """Return the path that a provider sends browsers back to."""
    return f"{_place(name)}/redirect"


def _place(name: str) -> str:
    return f"/v3/auth/OS-FEDERATION/identity_providers/{name}/protocols/{PROTOCOL}"


def dashboard_origin(plan: Plan) -> str:
    """Return the only page that Keystone sends tokens of browsers to, "" on a site without a dashboard."""
    pages = [one for one in plan.edge.endpoints if one.service == "horizon"]
    return f"https://{pages[0].name}/auth/websso/" if pages else ""


def keystone_values(plan: Plan) -> Values:
    """Return values for Keystone beside Apache's configuration; none on a site without providers."""
    if not plan.identity.providers:
        return {}
    origin = dashboard_origin(plan)
    keystone = {
        # Without `external`: there a user would be whoever the provider calls so, in the domain of administrators.
        "auth": {"methods": "password,token,oauth1,mapped,application_credential,openid"},
        "federation": {
            "assertion_prefix": "OIDC_",
            "remote_id_attribute": ISSUER,
            **({"trusted_dashboard": origin} if origin else {}),
        },
    }
    federation = {
        "sessions": {"$secret": SESSIONS},
        "secrets": {one.name: {"$secret": one.secret} for one in plan.identity.providers},
        "authorities": {one.name: one.ca for one in plan.identity.providers if one.ca},
    }
    return {"conf": {"keystone": keystone, "federation": federation, "wsgi_script": _SCRIPT}}


# What reaches Keystone by a way that no provider's virtual host serves is refused here, whatever its URL looks like. In
# Keystone `;` separates values: in a value it is another character, so that no group's name is two.
_SCRIPT = f"""\
import re

from keystone.wsgi.api import application as keystone

LOGIN = re.compile(r"/OS-FEDERATION/+(websso/|.*/protocols/+[^/]+/+(auth|websso)/*$)", re.IGNORECASE)


def application(environ, start_response):
    if "{ISSUER}" not in environ and LOGIN.search(environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")):
        start_response("401 Unauthorized", [("Content-Type", "text/plain")])
        return [b"no provider has confirmed this login\\n"]
    for name in [name for name in environ if name.startswith("{CLAIM}")]:
        environ[name] = environ[name].replace{ESCAPED}.replace("\\x1f", ";")
    return keystone(environ, start_response)
"""


def apache_modules() -> str:
    """Return directives that load what a site without providers does not."""
    return "".join(
        f"<IfModule !{name}_module>\n    LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n</IfModule>\n"
        for name in _MODULES
    )


def apache_passes(plan: Plan) -> str:
    """Return directives of the public virtual host: it passes each provider's logins to that provider's own."""
    lines = ["ProxyRequests Off", "ProxyPreserveHost On", "ProxyAddHeaders Off"]
    for port, one in _ports(plan):
        paths = (f"{_place(one.name)}/", *((token_path(one.name),) if one.bearer else ()))
        lines += [f"ProxyPass {path} http://127.0.0.1:{port}{path} retry=0 timeout=60" for path in paths]
    return "".join(f"    {line}\n" for line in lines)


def apache_hosts(plan: Plan) -> str:
    """Return the virtual hosts of the providers."""
    identity = public_endpoint(plan, "keystone").name
    return "".join(_host(one, port, identity) for port, one in _ports(plan))


def _ports(plan: Plan) -> list[tuple[int, IdentityProviderPlan]]:
    return list(enumerate(plan.identity.providers, _FIRST_PORT))


def _secret(path: str) -> str:
    """Return a template of a value as one word of Apache's configuration."""
    return f'"{{{{ {path} | replace "\\\\" "\\\\\\\\" | replace "\\"" "\\\\\\"" }}}}"'


def _host(one: IdentityProviderPlan, port: int, identity: str) -> str:
    place, secret = _place(one.name), _secret(f'get .Values.conf.federation.secrets "{one.name}"')
    trust = f"    OIDCCABundlePath {authority_file(one.name)}\n" if one.ca else ""
    text = f"""
Listen 127.0.0.1:{port}
<VirtualHost 127.0.0.1:{port}>
    UseCanonicalName Off
    LimitRequestBody 114688
    OIDCProviderMetadataURL {one.issuer.rstrip("/")}{DISCOVERY}
    OIDCProviderMetadataRefreshInterval 60
    OIDCClientID "{one.client_id}"
    OIDCClientSecret {secret}
    OIDCScope "{" ".join(one.scopes)}"
    OIDCResponseType code
    OIDCPKCEMethod S256
    OIDCRedirectURI https://{identity}{redirect_path(one.name)}
    OIDCCryptoPassphrase {_secret(f'printf "%s/{one.name}" .Values.conf.federation.sessions')}
    OIDCSessionType client-cookie
    OIDCSessionInactivityTimeout 60
    OIDCSessionMaxDuration 60
    OIDCCookie login_{one.name}
    OIDCCookiePath {place}/
    OIDCCookieSameSite On
    OIDCStateMaxNumberOfCookies 7 true
    OIDCXForwardedHeaders X-Forwarded-Proto
    OIDCHTTPTimeoutLong 10
    OIDCHTTPTimeoutShort 5
{trust}    OIDCClaimDelimiter "{_SEPARATOR}"
    OIDCRemoteUserClaim sub
    WSGIProcessGroup keystone-public
    WSGIApplicationGroup %{{GLOBAL}}
    WSGIScriptAlias / /var/www/cgi-bin/keystone/wsgi.py
    <Location />
        Require all denied
    </Location>
    <LocationMatch "^{place}/redirect$">
        AuthType openid-connect
        Require valid-user
    </LocationMatch>
    <LocationMatch "^{place}/websso$">
        AuthType openid-connect
        Require claim "iss:{one.issuer}"
        OIDCPassClaimsAs environment none
        SetEnv {ISSUER} {one.issuer}
    </LocationMatch>
"""
    return f"{text}{_bearer(one, secret) if one.bearer else ''}</VirtualHost>\n"


def _bearer(one: IdentityProviderPlan, secret: str) -> str:
    """Return what takes access tokens that the provider gave this client, and no other's."""
    mine = "".join(f"            Require claim {claim}:{one.client_id}\n" for claim in ("client_id", "azp", "aud"))
    return f"""\
    OIDCOAuthServerMetadataURL {one.issuer.rstrip("/")}{DISCOVERY}
    OIDCOAuthClientID "{one.client_id}"
    OIDCOAuthClientSecret {secret}
    OIDCOAuthRemoteUserClaim sub
    <Location {token_path(one.name)}>
        AuthType oauth20
        OIDCOAuthTokenIntrospectionInterval -1
        OIDCPassClaimsAs environment none
        SetEnv {ISSUER} {one.issuer}
        <RequireAny>
{mine}        </RequireAny>
    </Location>
"""


def authority_file(name: str) -> str:
    """Return the file with the CA of a provider's servers, in Keystone's pods."""
    return f"{_AUTHORITIES}/{name}.pem"


def dashboard_values(plan: Plan) -> Values:
    """Return values for the dashboard: a choice for each provider; none on a site without providers."""
    if not plan.identity.providers:
        return {}
    raw = {
        "WEBSSO_ENABLED": 1,  # JSON's word for true is none in Python
        "WEBSSO_INITIAL_CHOICE": "credentials",
        "WEBSSO_CHOICES": [
            ["credentials", "User name and password"],
            *([one.name, f"Log in with {one.label}"] for one in plan.identity.providers),
        ],
        "WEBSSO_IDP_MAPPING": {one.name: [one.name, PROTOCOL] for one in plan.identity.providers},
        "WEBSSO_KEYSTONE_URL": public_endpoint(plan, "keystone").url.rstrip("/"),
    }
    return {"conf": {"horizon": {"local_settings": {"config": {"raw": raw}}}}}


def form_targets(plan: Plan) -> tuple[str, ...]:
    """Return where the dashboard's login form may lead: browsers hold all redirects against `form-action`."""
    if not plan.identity.providers:
        return ()
    keystone = f"https://{public_endpoint(plan, 'keystone').name}"
    return tuple(dict.fromkeys([keystone, *(origin for one in plan.identity.providers for origin in one.hosts)]))
