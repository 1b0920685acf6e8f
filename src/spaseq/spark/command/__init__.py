"""`spaseq run --engine spark`: sessions, checkpoint folders, micro-batches and the written output of a run."""
