"""Heads in the terminal: their maps drawn as text, and the full-screen explorer."""
