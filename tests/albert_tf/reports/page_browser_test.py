"""The page of a run, and of an experiment, in a headless Chromium: wide, narrow, light, dark and printed."""

import devtools
import pytest

pytestmark = pytest.mark.browser


@pytest.fixture(params=[1200, 400])
def browser(request, tmp_path):
    """A browser of a width, which knows no network."""
    if devtools.find_browser() is None:
        pytest.skip(f"no browser: none of {', '.join(devtools.NAMES)} is installed")
    with devtools.Browser(str(tmp_path / "profile"), request.param) as opened:
        yield opened


@pytest.fixture(params=["run", "experiment"])
def shown(request, tmp_path, pretrained, experiment):
    """The folder of a run, or of an experiment with long names and many rows."""
    long = [f"a-row-with-a-name-of-sixty-characters-{number:022d}" for number in range(12)]
    return pretrained if request.param == "run" else experiment(rows=long)


def test_the_page_fits_its_width_and_follows_light_and_dark(browser, shown, show, tmp_path):
    show(shown)
    browser.open((tmp_path / "page.html").as_uri())
    width = browser.evaluate("innerWidth")
    assert browser.evaluate("document.documentElement.scrollWidth") == width
    # No part sticks out of its place but what can be scrolled.
    sticking = "[...document.querySelectorAll('main > section > *')].filter(one => one.getBoundingClientRect().right"
    assert browser.evaluate(f"{sticking} > {width}).length") == 0
    colors = {}
    for scheme in ("light", "dark"):
        browser.prefer(scheme)
        colors[scheme] = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colors == {"light": "rgb(246, 246, 243)", "dark": "rgb(21, 24, 28)"}
    curve = "getComputedStyle(document.querySelector('polyline')).stroke"
    assert browser.evaluate(curve) == "rgb(118, 176, 240)"
    # What is folded away is printed all the same, in black on white.
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    folded = "document.querySelector('details > div, details > pre').getBoundingClientRect().height"
    assert browser.evaluate(folded) > 50
    faults = [event for event in browser.events if event.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")]
    assert faults == []
