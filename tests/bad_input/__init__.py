"""Bad input as a table: each row is a command that must fail, and words of its one line."""
