"""Backups that the controller keeps: complete, dated, known by their digest."""
