"""The reports of experiments."""
