"""The cloud as its users see it: connections by openstacksdk, provider networks, a tenant's first steps."""
