"""Building one artifact, and all that are missing."""
