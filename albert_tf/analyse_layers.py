"""Looks into the layers of trained models, as figure 1 of the paper does: how far each moves what it is given.

For each layer, over the tokens of real text: L2 distance and angle of its input and output, the entropy of its
attention, how many tokens away it looks, and its share to [CLS] and [SEP]. With --applications the one layer of a model
that shares all is applied more often than it was trained, which shows whether it comes to a fixed point.

analyse_layers --init_checkpoint=runs/base,hf://albert/albert-base-v2 --input_file=heldout.txt --plot_file=layers.png
"""

from absl import flags

from albert_tf.analysis.layer_settings import LayerSettings
from albert_tf.runtime import command, files, output_paths
from albert_tf.runtime.errors import InputError
from albert_tf.runtime.settings_flags import define_flags_of, values_of
from albert_tf.runtime.tensorflow_import import import_tensorflow, quiet_stderr


def define_flags(flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares the flags of this command."""
    define_flags_of(LayerSettings, "What is looked at", flag_values)
    flags.DEFINE_string(
        "plot_file", None, "Where to draw the figures, a PNG; needs the extra plot.", flag_values=flag_values
    )
    flags.DEFINE_string("json_file", None, "Where to write the figures as JSON.", flag_values=flag_values)
    output_paths.define_overwrite(flag_values)


def _run() -> None:
    given = flags.FLAGS
    settings = LayerSettings(**values_of(LayerSettings, given))
    written = [(name, given[name].value) for name in ("plot_file", "json_file")]
    output_paths.check_outputs(written, given.overwrite, inputs=given.input_file)
    if given.plot_file:
        from albert_tf.analysis.pyplot import import_pyplot

        # Before the reading, so that a missing package is found out at once.
        import_pyplot()
    texts = _texts(given.input_file, given.num_examples)
    import_tensorflow()
    with quiet_stderr():
        from albert_tf.analysis.layer_table import format_layers
        from albert_tf.analysis.layers import analyse_layers
    result = analyse_layers(settings, texts)
    if given.json_file:
        files.write_json(given.json_file, result)
    if given.plot_file:
        from albert_tf.analysis.layer_plot import draw_layers

        draw_layers(result, given.plot_file)
    print(format_layers(result))  # noqa: T201


def _texts(patterns: str, most: int) -> list[str] | None:
    """The first lines that are not empty; None for records."""
    from albert_tf.records.manifest import MANIFEST_SUFFIX
    from albert_tf.records.record_files import is_record_file
    from albert_tf.rows.input_lines import LineFile
    from albert_tf.serving.input_fields import is_unicode

    texts: list[str] = []
    paths = [path for path in files.list_files(patterns) if not path.endswith(MANIFEST_SUFFIX)]
    # Of a pipe nothing is read twice.
    if not paths or (not files.describe_special(paths[0]) and is_record_file(paths[0])):
        return None
    for path in paths:
        for number, line in enumerate(LineFile(path).lines(), 1):
            if len(texts) == most:
                return texts
            if not is_unicode(line):
                raise InputError(f"--input_file: {path}, line {number}: no UTF-8; give text, or records")
            texts += [line] if line.strip() else []
    return texts


main = command.entry_point(__name__, _run, required=("init_checkpoint", "input_file"))

if __name__ == "__main__":
    main()
