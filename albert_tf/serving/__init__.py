"""SavedModels that take text or ids, and their use."""
