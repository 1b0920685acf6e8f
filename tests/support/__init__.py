"""What tests share: random queries and streams, processes that can be killed, small workloads, hosts to compare."""
