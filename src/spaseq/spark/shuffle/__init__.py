"""What goes through the shuffle: blocks of mapping rows, the bucket each one goes to, and how far each stream has come."""
