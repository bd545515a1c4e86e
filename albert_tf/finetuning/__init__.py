"""Fine-tuning: settings, features, steps, run, seeds and evaluation."""
