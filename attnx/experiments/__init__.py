"""Experiments: claims about heads, checked on a model and on texts. One file an experiment, which has one `run`."""
