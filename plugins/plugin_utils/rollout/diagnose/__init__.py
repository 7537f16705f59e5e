"""From what was seen to a failure card."""
