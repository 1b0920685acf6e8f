"""The one language-neutral tree: expressions, graph patterns, event patterns, and the rules that rewrite them."""
