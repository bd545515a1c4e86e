"""Looking at runs and models after the fact."""
