"""Writes the book's site: Markdown, sources, pairs and Doxygen's XML become pages that need no network."""
