"""From scores to something to read: the document, its views, pictures, HTML, PDF, JSON and tables."""
