"""The formats' names, for flags: they are known before anything heavy is imported."""

FORMAT_NAMES = ["albert_tf", "official"]
