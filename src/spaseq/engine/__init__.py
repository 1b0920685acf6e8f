"""The embedded host: what runs a query inside this process, and the one reader of a real clock."""
