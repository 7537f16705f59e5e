"""OpenStack by openstacksdk: connections, provider networks, tenant smoke test, verbs for hypervisors."""
