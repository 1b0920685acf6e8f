"""Readers from bytes to events, writers from matches to bytes; knows events, knows no query."""
