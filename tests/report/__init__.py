"""Pages of reports, opened in a browser."""
