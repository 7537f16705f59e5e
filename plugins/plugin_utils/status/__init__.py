"""The state of a site as rows: one room for all layers, which asks what each of them verifies by."""
