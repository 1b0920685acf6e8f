"""`python -m spaseq`: the command, where its folder is not on the path."""

from spaseq.cli.main import main

main(prog_name="spaseq")
