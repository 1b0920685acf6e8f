"""These modules are imported as parts of spaseq, by the tests that add them."""

collect_ignore_glob = ["connectors/*", "languages/*", "operators/*"]
