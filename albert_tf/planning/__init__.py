"""Plans of a training before a chip is rented: what fits it, how fast a step is, and what the run costs."""
