"""Graph patterns and expressions over whole batches of events, as columns of term ids."""
