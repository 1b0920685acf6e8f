"""One file per operator: the edges that the operator adds between a state and the next one."""
