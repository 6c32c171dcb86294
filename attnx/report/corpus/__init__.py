"""The report of a corpus: its document and JSON twin, its findings, its views, its pictures."""
