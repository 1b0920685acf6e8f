"""What runs a program: operators with state over tables of mappings, the answers they give, and their state as arrays.

Hosts step operators, compact dictionaries under them and save them; they know nothing else of a query.
"""
