"""A program of the monitoring host: what management controllers say of power supplies, fans and temperatures."""
