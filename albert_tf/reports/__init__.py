"""Reports: what a run left in its folder as one page for a person."""
