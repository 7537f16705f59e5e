"""What modules of Ironic on the seed share."""
