"""What modules of the seed share."""
