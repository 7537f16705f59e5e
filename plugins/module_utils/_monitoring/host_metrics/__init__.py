"""A program of every host: what runs on it and has no exporter, as text files for the node exporter."""
