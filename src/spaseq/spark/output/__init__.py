"""From answers to rows, part files and the lines of the output."""
