"""The report file about a step whose loss or gradient was not finite."""

import os
from typing import Any

from albert_tf.runtime import files


def write_nonfinite_report(
    output_dir: str, step: int, metrics: dict[str, float], records: list[dict[str, Any]], **more: Any
) -> str:
    """Writes OUTPUT_DIR/nonfinite-STEP.json.

    Args:
        output_dir: of the run.
        step: counted from 0.
        metrics: of the step, by the names of Steps.metrics.
        records: what the batch was made of, see inputs.record_origin.find_records.
        **more: what else is known, such as the learning rate.

    Returns:
        the file's path.
    """
    path = os.path.join(output_dir, f"nonfinite-{step:08d}.json")
    # JSON has no word for what is not finite.
    spelled = {name: value if abs(value) < float("inf") else str(value) for name, value in metrics.items()}
    values = {"step": step, **more, "metrics": spelled, "records": records}
    files.write_json(path, values)
    return path
