"""A page as HTML: the templates of this folder, which escape every text, by jinja2."""

from importlib import resources

from albert_tf.reports import charts
from albert_tf.reports.blocks import Page
from albert_tf.runtime.packages import import_extra

_FOLDER = "templates"


def render(page: Page) -> str:
    """The HTML of a page; it holds its style and its drawings, and refers to nothing else.

    Raises:
        InputError: jinja2 is not installed.
    """
    jinja2 = import_extra("jinja2", "report", "a report")
    folder = resources.files("albert_tf.reports") / _FOLDER
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    left, top, right, bottom = charts.PLOT
    plot = {"left": left, "top": top, "right": right, "bottom": bottom, "width": right - left, "height": bottom - top}
    return environment.get_template("page.html").render(page=page, plot=plot, width=charts.WIDTH, height=charts.HEIGHT)
