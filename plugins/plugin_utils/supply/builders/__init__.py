"""What makes artifacts: one module per builder, see ``build/builder.py``."""
