"""Whole files through one model: shards that are measured, saved and merged, and the outputs made of them."""
