"""Dumps in, warehouse out: collectors, loader, ledger, publisher. Never computes a metric."""
