"""The cloud by openstacksdk: connections, provider networks, a tenant's first steps, hypervisors that leave."""
