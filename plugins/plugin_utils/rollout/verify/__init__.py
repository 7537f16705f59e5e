"""How services are asked whether they work: `context` for each by its own record, `catalog` for the site as a whole."""
