"""First contact with a host that is installed already: whose login works, and which key the host shows."""
