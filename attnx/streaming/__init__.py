"""Many sentences through one model: batches of equal length, scored layer by layer and forgotten."""
