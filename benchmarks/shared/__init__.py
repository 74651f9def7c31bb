"""What workloads share: cases, measured processes, provenance, tables and charts."""
