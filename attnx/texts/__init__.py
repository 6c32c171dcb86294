"""Reading sentences: cleaning, language by script, readable labels for tokens."""
