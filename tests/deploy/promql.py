"""What the dashboard's file asks of Prometheus."""

from __future__ import annotations

import json


def queries(told: str) -> list[str]:
    """Every PromQL expression in the dashboard's file."""

    def found(node: object) -> list[str]:
        if isinstance(node, dict):
            own = [node["expr"]] if isinstance(node.get("expr"), str) else []
            return own + [expr for value in node.values() for expr in found(value)]
        if isinstance(node, list):
            return [expr for value in node for expr in found(value)]
        return []

    return found(json.loads(told))
