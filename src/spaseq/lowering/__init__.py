"""Syntax trees of the dialects -> the one algebra: the only package that imports both."""
