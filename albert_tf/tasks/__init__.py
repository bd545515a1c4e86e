"""Tasks for fine-tuning: files to examples, examples to features, the model's outputs to predictions and scores."""
