"""Syntax trees of the dialects -> the one algebra: the only room that knows both sides."""
