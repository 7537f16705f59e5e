"""Names of the secrets that chart values refer to: each is written once, and shared by every chart that needs it."""

from __future__ import annotations

# name -> what it is; the values are made and kept by plugin_utils/secrets.
SECRETS: dict[str, str] = {
    "mariadb/root": "administrator of the database, who creates each service's schema and account",
    "mariadb/sst": "account that copies a whole member to a joining one",
    "mariadb/audit": "read-only account",
    "rabbitmq/admin": "administrator of the message queue, who creates each service's virtual host and account",
    "rabbitmq/guest": "the guest account, which every client has to change or lose",
    "rabbitmq/erlang-cookie": "what makes RabbitMQ nodes one cluster",
    "memcached/secret-key": "encrypts what services keep in Memcached",
    "keystone/admin": "the cloud's administrator",
    "keystone/test": "account of the charts' own tests",
    "keystone/db": "Keystone's database account",
    "keystone/rabbitmq": "Keystone's message queue account",
}


def secret(name: str) -> dict[str, str]:
    """Return the reference to secret ``name`` that stands in the values. Raises KeyError for a name not in SECRETS."""
    if name not in SECRETS:
        raise KeyError(f"secret {name!r} is not listed in plugin_utils/services/secrets.py")
    return {"$secret": name}
