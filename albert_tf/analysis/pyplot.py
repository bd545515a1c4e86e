"""matplotlib, where it is installed."""

from albert_tf.runtime.errors import InputError


def import_pyplot():
    """matplotlib.pyplot, drawing into files.

    Raises:
        InputError: it is not installed.
    """
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        raise InputError("drawing needs matplotlib: pip install 'albert_tf[plot]'") from None
    return pyplot
