"""Reading corpora: text, tables, JSON Lines, Parquet and CoNLL-U as one stream of rows, never held whole."""
