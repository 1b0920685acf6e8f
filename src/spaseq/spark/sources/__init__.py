"""Events as Spark reads them: files in parts, `format("rdf")`, rows of a DataFrame, serialised graphs; and what is bad in them."""
