"""What a cloud has room for, and who used what of it: asked of its APIs, as rows with stable columns."""
