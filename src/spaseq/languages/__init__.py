"""The query languages, one folder each: grammar, tree, builder, checks and lowering; what they share lies beside them."""
