"""Scrape targets, alert rules and their routing, from the plan alone."""
