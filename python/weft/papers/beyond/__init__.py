"""Beyond the papers: what they leave open."""
