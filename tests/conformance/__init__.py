"""Public scripts by which the Internet's TCP is tested, on Weft and on this machine's kernel side by side."""
