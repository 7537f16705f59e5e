"""OpenStack's own tests (Tempest and its plugins) against a cloud: settings from the plan, run, judgement, table."""
