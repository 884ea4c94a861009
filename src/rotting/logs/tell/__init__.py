"""Evidence and advice in words, figures, a page, JSON."""
