"""What services are asked to know whether they work: results, and the access a verifier has."""
