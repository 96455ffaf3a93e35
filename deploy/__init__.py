"""Writes the files that Prometheus, Alertmanager and Grafana load; knows no warehouse."""
