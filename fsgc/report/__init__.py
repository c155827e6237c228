"""From stored results to statistics, tables, figures and one page."""
