"""Reading and checking the prose of the repository, for `tests/test_prose.py`."""
