"""Parts of the printer, one module for each kind of node; `spaseq.syntax.printer` is the entry point."""
