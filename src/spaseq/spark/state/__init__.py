"""The sequence stage of an endless input: a stateful operator of Spark and what it keeps in the state store."""
