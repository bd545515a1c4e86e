"""Records as a person reads them."""
