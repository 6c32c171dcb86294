"""A name becomes a model and a tokenizer; a sentence becomes an attention map."""
