"""The page in a headless Chromium: every task from its form to its answer, by keyboard too, light and dark."""

import devtools
import pytest
from running_server import running

from albert_tf.server.tensorflow_model import TensorflowModel

pytestmark = pytest.mark.browser

TASKS = ("pretraining", "pair", "regression", "token_classification", "multiple_choice", "span", "span_categories")


@pytest.fixture(scope="module")
def client(checkpoint_of, tmp_path_factory):
    path = tmp_path_factory.mktemp("browser") / "sentences"
    path.write_text("bado mite\nro gi\nlu ra fo\n")
    models = {name: TensorflowModel(checkpoint_of(name)) for name in TASKS}
    with running(models, page=True, page_sentences_file=str(path)) as asked:
        yield asked


@pytest.fixture(scope="module")
def browser(client, tmp_path_factory):
    if devtools.find_browser() is None:
        pytest.skip(f"no browser: none of {', '.join(devtools.NAMES)} is installed")
    with devtools.Browser(str(tmp_path_factory.mktemp("profile"))) as opened:
        yield opened


@pytest.fixture
def page(client, browser):
    browser.open(f"http://127.0.0.1:{client.port}/")
    browser.wait("document.querySelectorAll('[role=tab]').length === 9")
    browser.events.clear()
    return browser


def choose(page, title):
    page.evaluate(
        f"[...document.querySelectorAll('[role=tab]')].find((tab) => tab.textContent.startsWith('{title}')).click()"
    )


def fill(page, name, value):
    page.evaluate(f"document.getElementById('field-{name}').focus()")
    page.evaluate("document.activeElement.select()")
    page.write(value)


def ask(page, **values):
    """Writes into the fields, asks by keyboard, and returns the text of the answer."""
    for name, value in values.items():
        fill(page, name, value)
    page.press("Enter", modifiers=2)
    return page.wait("document.getElementById('answer').innerText")


def rows(page):
    return page.evaluate(
        "[...document.querySelectorAll('#answer tr')].map((row) => [...row.children].map((cell) => cell.innerText))"
    )


def marks(page):
    return page.evaluate("[...document.querySelectorAll('#answer mark')].map((mark) => mark.textContent)")


def test_masks_are_filled_in(page, client):
    choose(page, "Fill in masks")
    ask(page, text="bado [MASK] ro <b>[MASK]</b>")
    asked = {"signature_name": "fill_mask", "instances": [{"text": "bado [MASK] ro <b>[MASK]</b>", "top_k": 5}]}
    (found,) = client.ask(asked, "pretraining")[1]["predictions"]
    assert marks(page) == [mask[0].replace("▁", " ").strip() for mask in found["pieces"]]
    assert len(rows(page)) == 10
    assert rows(page)[0][2] == f"{100 * found['probabilities'][0][0]:.1f} %"
    assert "<b>" in page.evaluate("document.querySelector('#answer .best').textContent")


def test_the_order_is_judged(page):
    choose(page, "Judge the order")
    ask(page, first="bado", second="mite ro")
    chances = [float(row[2].removesuffix(" %")) for row in rows(page)]
    assert sum(chances) == pytest.approx(100, abs=0.2)


def test_a_pair_is_classified(page, client):
    choose(page, "Classify")
    ask(page, text="bado", text_pair="mite ro")
    (found,) = client.ask({"instances": [{"text": "bado", "text_pair": "mite ro"}]}, "pair")[1]["predictions"]
    assert marks(page) == [found["label"]]
    assert next(row[0] for row in rows(page)) == found["label"]


def test_a_text_is_scored(page, client):
    choose(page, "Score")
    ask(page, text="bado", text_pair="")
    (found,) = client.ask({"instances": [{"text": "bado", "text_pair": ""}]}, "regression")[1]["predictions"]
    assert marks(page) == [f"{found:.3f}"]


def test_words_are_tagged(page, client):
    choose(page, "Tag words")
    ask(page, text="ba do  mite gi")
    (found,) = client.ask({"instances": ["ba do  mite gi"]}, "token_classification")[1]["predictions"]
    shown = page.evaluate("[...document.querySelectorAll('.word')].map((word) => word.textContent.trim())")
    assert shown == [f"{'' if tag == 'O' else tag}{word}" for word, tag in zip(found["words"], found["tags"])]


def test_spans_are_marked_in_the_text_and_those_that_overlap_below_it(page, client):
    # A character that JavaScript counts as two stands before them.
    text = "\U0001f600 bado mite ro gi lu"
    choose(page, "Find entities")
    ask(page, text=text)
    found = client.ask({"instances": [text]}, "span_categories")[1]["predictions"][0]
    places = [place for place in zip(found["starts"], found["ends"], found["labels"]) if place[2]]
    shown = [f"{text[start:end]} {label}" for start, end, label in places]
    assert sorted(marks(page)) == sorted(shown)
    page.evaluate("document.querySelectorAll('.passage small').forEach((label) => label.remove())")
    whole, *others = page.evaluate("[...document.querySelectorAll('.passage')].map((passage) => passage.textContent)")
    assert whole == text
    assert len(shown) > len(others) > 0


def test_an_option_is_chosen(page):
    choose(page, "Choose")
    ask(page, article="bado mite", question="ro _", options="gi\nlu ra\n\nfo")
    assert sorted(row[0] for row in rows(page)) == ["fo", "gi", "lu ra"]
    assert len(marks(page)) == 1


def test_an_answer_is_marked_where_it_stands(page, client):
    # A character that JavaScript counts as two stands before it.
    context = "\U0001f600 bado mite ro gi lu"
    choose(page, "Answer")
    ask(page, question="ro", context=context)
    asked = {"inputs": {"question": ["ro"], "context": [context]}}
    found = client.ask(asked, "span")[1]["outputs"]
    assert marks(page) == [context[found["start"][0] : found["end"][0]]]
    assert page.evaluate("document.querySelector('.passage').textContent") == context


def test_the_nearest_sentences_are_found(page):
    choose(page, "Nearest sentences")
    ask(page, text="ro gi")
    assert rows(page)[0][0] == "ro gi"
    assert rows(page)[0][2] == "1.00"


def test_what_is_missing_is_said(page):
    choose(page, "Fill in masks")
    fill(page, "text", "no mask")
    page.press("Enter", modifiers=2)
    assert page.wait("document.getElementById('status').textContent") == "Write [MASK] where a word is to be filled in."


def test_an_error_of_the_server_is_shown(page):
    choose(page, "Tag words")
    page.evaluate("document.getElementById('field-text').value = 'a '.repeat(20000)")
    page.evaluate("document.getElementById('form').requestSubmit()")
    assert "the server takes 20,000 at most" in page.wait(
        "document.getElementById('status').classList.contains('error') && document.getElementById('status').textContent"
    )


def test_the_keyboard_goes_through_the_tabs(page):
    page.evaluate("document.querySelector('[role=tab]').focus()")
    chosen = "document.activeElement.textContent + document.activeElement.getAttribute('aria-selected')"
    first = page.evaluate(chosen)
    page.press("ArrowRight")
    second = page.evaluate(chosen)
    assert second != first
    assert second.endswith("true")
    page.press("ArrowLeft")
    assert page.evaluate(chosen) == first
    page.press("End")
    assert page.evaluate(chosen).startswith("Nearest")
    # One tab alone is in the order of the Tab key, then come the fields.
    page.press("Tab")
    assert page.evaluate("document.activeElement.id") == "field-text"


def test_every_field_has_its_label(page):
    for title in ("Fill", "Judge", "Classify", "Score", "Tag", "Choose", "Answer", "Nearest"):
        choose(page, title)
        assert page.evaluate("[...document.querySelectorAll('textarea')].every((area) => area.labels.length === 1)")
    assert page.evaluate("document.documentElement.lang") == "en"


CONTRAST = """(() => {
  const light = (color) => {
    const parts = color.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255);
    const [red, green, blue] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const of = (selector, ground) => {
    const own = light(getComputedStyle(document.querySelector(selector)).color);
    const behind = light(getComputedStyle(document.querySelector(ground)).backgroundColor);
    return (Math.max(own, behind) + 0.05) / (Math.min(own, behind) + 0.05);
  };
  return [of('h1', 'body'), of('#lead', 'body'), of('label', '#panel'), of('.hint', '#panel'),
    of('textarea', 'textarea'),
    of('button[type=submit]', 'button[type=submit]'), of('[aria-selected=true]', '[aria-selected=true]')];
})()"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_light_and_dark(page, scheme):
    page.prefer(scheme)
    choose(page, "Fill in masks")
    # 4.5 is what WCAG asks for.
    assert min(page.evaluate(CONTRAST)) >= 4.5
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, ground.removeprefix("rgb(").removesuffix(")").split(","))) > 380) is (scheme == "light")


def test_the_page_asks_nobody_else_and_complains_of_nothing(page, client):
    choose(page, "Fill in masks")
    ask(page, text="bado [MASK]")
    errors, addresses = page.complaints()
    assert errors == []
    assert addresses
    assert all(address.startswith(f"http://127.0.0.1:{client.port}/") for address in addresses)
