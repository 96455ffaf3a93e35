"""Charts: a polars frame and a palette in, a plotly figure out. No streamlit, DuckDB or clock."""
