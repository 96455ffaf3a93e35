"""Dumps in, warehouse out: collectors, the loader, the ledger and the publisher. Never computes a metric."""
