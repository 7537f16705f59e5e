"""Code shared by the seed's modules."""
