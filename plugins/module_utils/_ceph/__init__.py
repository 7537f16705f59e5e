"""The storage layer's work on its hosts: monitors, managers, OSDs, pools, keys."""
