"""What the storage layer does on its hosts: monitors, managers, OSDs, pools, keys."""
