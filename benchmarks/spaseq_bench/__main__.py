"""`python -m spaseq_bench` is the command `spaseq-bench`."""

from spaseq_bench.command import main

main()
