"""The viewer's page in a real browser: what a reader clicks, types and sees."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers import browser as browsers
from helpers.browser import Viewer, until, write
from helpers.viewer import EVIL, EXAMPLES, MODULE, hostile, make, render
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tirscript.cli.viewer.page import _html, _Sections
from tirscript.passes import DEFAULT_LOWERING

MISSING = browsers.missing()
pytestmark = pytest.mark.skipif(MISSING is not None, reason=f"no browser: {MISSING}")


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    with browsers.browser(tmp_path_factory.mktemp("browser")) as found:
        yield found
        assert [entry for entry in found.get_log("browser") if entry["level"] == "SEVERE"] == []


@pytest.fixture(scope="module")
def matmul(tmp_path_factory):
    return write(tmp_path_factory.mktemp("pages"), "matmul", render((EXAMPLES / "matmul.py").read_text()))


@pytest.fixture
def viewer(driver, matmul):
    return Viewer(driver, matmul)


# --- stages -----------------------------------------------------------------------------------------------------------


def test_the_first_change_is_shown_first(viewer):
    assert viewer.texts("#stages .stage[aria-current] .name") == ["lower_init_block"]
    assert viewer.texts("#about h2") == ["lower_init_block"]
    assert any("with T.init():" in line for line in viewer.lines("left", ".removed").values())
    assert any("if vp == 0:" in line for line in viewer.lines("right", ".added").values())
    assert "block" in viewer.texts("#about p")[0]


def test_clicking_through_all_stages(viewer):
    for group in range(len(viewer.all("#stages .group"))):
        viewer.all("#stages .group")[group].click()
    names = viewer.texts("#stages .stage .name")
    assert names[:2] == ["Source", "Whole pipeline"]
    assert names[2:-3] == list(map(str, DEFAULT_LOWERING))
    for at, name in enumerate(names):
        viewer.all("#stages .stage")[at].click()
        viewer.settled(lambda name=name: viewer.texts("#stages .stage[aria-current] .name") == [name], name)
        assert viewer.lines("left") and viewer.lines("right"), name
    times = viewer.texts("#stages .pass .time")
    assert len(times) == len(DEFAULT_LOWERING) and all(re.fullmatch(r"[\d.]+ (s|ms|µs)", one) for one in times)


def test_times_are_short(viewer):
    seconds = [4e-7, 9.96e-6, 9.97e-5, 0.000123, 0.00456, 0.0997, 0.9996, 1.25, 234.5]
    shown = viewer.run("return arguments[0].map(time)", seconds)
    assert shown == ["0.4 µs", "10.0 µs", "100 µs", "123 µs", "4.6 ms", "100 ms", "1000 ms", "1.3 s", "235 s"]


def test_passes_without_change_are_folded(viewer):
    assert "plan_buffer_allocation" not in viewer.texts("#stages .stage .name")
    group = viewer.all("#stages .group")[0]
    first = list(map(str, DEFAULT_LOWERING)).index("lower_init_block")
    assert group.text.endswith(f"{first} without change") and group.get_attribute("aria-expanded") == "false"
    group.click()
    assert "plan_buffer_allocation" in viewer.texts("#stages .stage.same .name")
    viewer.open("plan_buffer_allocation")
    assert viewer.texts(".badge") == ["no change"]
    viewer.all("#stages .group")[0].click()
    assert "plan_buffer_allocation" in viewer.texts("#stages .stage .name"), "what is shown is not folded away"


def test_filtering_passes(viewer):
    viewer.press("p")
    viewer.press("flat")
    assert viewer.texts("#stages .stage .name") == ["flatten_buffer"]
    viewer.one("#filter").send_keys("xyz")
    assert viewer.texts("#stages .stage") == [] and viewer.texts("#stages .nothing")
    viewer.one("#filter").clear()
    viewer.one("#filter").send_keys("decl_buffer\n")
    until(lambda: viewer.texts("#stages .count"), "counts of the words in the stages")
    assert viewer.texts("#stages .stage.pass .count")[0] == "3×"
    assert viewer.texts("#stages .stage.pass .name")[0] == "flatten_buffer"
    viewer.press("\ue00c")  # Escape
    assert "lower_blocks" in viewer.texts("#stages .stage .name")


def test_keys_go_through_the_stages(viewer):
    viewer.press("j")
    viewer.settled(lambda: viewer.texts("#about h2") == ["lower_blocks"], "the next stage")
    viewer.press("k")
    viewer.settled(lambda: viewer.texts("#about h2") == ["lower_init_block"], "the stage before")
    viewer.press("x")
    viewer.settled(lambda: any("if vp" in line for line in viewer.lines("left").values()), "the sides exchanged")
    viewer.press("?")
    assert viewer.one("#keys").is_displayed() and len(viewer.all("#keys kbd")) > 6
    viewer.press("\ue00c")
    until(lambda: not viewer.one("#keys").is_displayed(), "the list of keys is closed")


# --- the text ---------------------------------------------------------------------------------------------------------


def test_lines_of_both_sides_stand_beside_each_other(viewer):
    viewer.open("Whole pipeline")
    rows = viewer.run(
        "return ['left', 'right'].map((side) => [...document.querySelectorAll(`.pane.${side} .row`)].map((one) =>"
        " one.classList.contains('filler') ? '' : one.querySelector('.code').textContent.trim()))"
    )
    pairs = list(zip(*rows, strict=True))
    assert ("def matmul(",) * 2 in pairs
    assert ("C[vi, vj] = 0.0", "C_1[i * n + j] = 0.0") in pairs
    assert any(left == "" and right.startswith("A_1 = T.decl_buffer") for left, right in pairs)
    marked = viewer.texts(".pane.right .marked")
    assert "C_1" in "".join(marked) and "= 0.0" not in "".join(marked)


def test_hovering_tells_what_is_known(viewer):
    viewer.hover(viewer.name("right", "vp"))
    tip = until(lambda: viewer.one("#tip").is_displayed() and viewer.one("#tip").text, "what is known of vp")
    assert "vp" in tip and "int64" in tip and "reduce axis of a block" in tip
    assert "0 ≤ vp < k" in tip and "vp = p" in tip and "uses" in tip
    viewer.hover(viewer.name("left", "A"))
    tip = until(lambda: "parameter" in viewer.one("#tip").text and viewer.one("#tip").text, "what is known of A")
    assert "float32[m, k]" in tip
    viewer.hover(viewer.one("h1"))
    until(lambda: not viewer.one("#tip").is_displayed(), "nothing is told elsewhere")


def test_clicking_a_name_marks_its_uses_on_both_sides(viewer):
    viewer.name("right", "vp").click()
    until(lambda: viewer.texts(".pane.right .chosen"), "marks")
    left, right = viewer.texts(".pane.left .chosen"), viewer.texts(".pane.right .chosen")
    assert set(left) == set(right) == {"vp"} and len(left) == 3 and len(right) == 4
    viewer.name("right", "vp").click()
    until(lambda: not viewer.texts(".chosen"), "clicking again takes the marks away")
    viewer.name("left", "C").click()
    until(lambda: set(viewer.texts(".chosen")) == {"C"}, "marks of C")
    viewer.press("\ue00c")
    until(lambda: not viewer.texts(".chosen"), "Escape takes them away too")


def test_two_loops_of_one_name_are_two_names(driver, tmp_path):
    source = (
        "from tirscript.script import tir as T\n\n\n@T.prim_func\ndef f(A: T.Buffer((8,), 'int32')):\n"
        "    for i in range(8):\n        A[i] = 1\n    for i in range(8):\n        A[i] = 2\n"
    )
    viewer = Viewer(
        driver, write(tmp_path, "two", render(source, passes="simplify", compiled=False)), "#l=stage:0&r=stage:1"
    )
    viewer.name("left", "i").click()
    until(lambda: viewer.texts(".chosen"), "marks")
    assert viewer.texts(".pane.left .chosen") == viewer.texts(".pane.right .chosen") == ["i", "i"]


# --- lines and where they came from -----------------------------------------------------------------------------------


def linked(viewer, side):
    return viewer.lines(side, ".linked")


def test_from_the_source_to_assembly(viewer):
    viewer.open("Source")
    (line,) = (number for number, text in viewer.lines("left").items() if text.strip().startswith("C[vi, vj] = C"))
    viewer.row("left", line).click()
    until(lambda: linked(viewer, "right"), "the line of the IR")
    assert [text.strip() for text in linked(viewer, "right").values()] == [
        "C[vi, vj] = C[vi, vj] + A[vi, vp] * B[vp, vj]"
    ]
    places = viewer.texts("#places button")
    assert [one.split("line")[0].strip() for one in places[:3]] == ["source", "IR as read", "IR at the end"]
    for view, pattern in (("code:written", "fmul"), ("code:optimized", "fmul"), ("code:assembly", "v?mul[sp]s|fmul")):
        viewer.one(f'#places button[data-view="{view}"]').click()
        viewer.settled(
            lambda view=view: viewer.run("return viewer.views.right") == view and linked(viewer, "right"), view
        )
        assert any(re.search(pattern, text) for text in linked(viewer, "right").values()), view
        assert list(linked(viewer, "left")) == [line]


def test_from_assembly_back_to_the_source(viewer):
    viewer.open("LLVM IR, as written")
    # the products are further down
    viewer.run("viewer.right.scroller.scrollTop = viewer.right.scroller.scrollHeight / 2")
    (line, *_) = until(
        lambda: [number for number, text in viewer.lines("right").items() if "fmul" in text], "a product"
    )
    viewer.row("right", line).click()
    until(lambda: linked(viewer, "left"), "the line of the last stage")
    assert [text.strip()[:14] for text in linked(viewer, "left").values()] == ["C_1[i * n + j]"]
    viewer.one('#places button[data-view="source"]').click()
    viewer.settled(
        lambda: viewer.run("return viewer.views.right") == "source" and linked(viewer, "right"), "the source"
    )
    assert [text.strip()[:9] for text in linked(viewer, "right").values()] == ["C[vi, vj]"]


def test_keys_mark_lines(viewer):
    viewer.open("LLVM IR, as written")
    (line, *_) = (number for number, text in viewer.lines("left").items() if text.strip().startswith("for "))
    viewer.row("left", line).click()
    until(lambda: list(linked(viewer, "left")) == [line], "the loop")
    for key, wanted in (("J", line + 1), ("J", line + 2), ("K", line + 1)):
        viewer.press(key)
        until(lambda wanted=wanted: list(linked(viewer, "left")) == [wanted], f"line {wanted}")
        assert linked(viewer, "right")


def test_any_two_texts_can_be_chosen(viewer):
    from selenium.webdriver.support.select import Select

    Select(viewer.one(".pane.left select")).select_by_visible_text("IR as it was read")
    Select(viewer.one(".pane.right select")).select_by_visible_text("after lower_blocks")
    viewer.settled(lambda: "and after lower_blocks" in viewer.texts("#about h2")[0], "both texts")
    assert viewer.texts("#stages [aria-current]") == []
    address = viewer.driver.current_url
    number = list(map(str, DEFAULT_LOWERING)).index("lower_blocks") + 1
    assert address.endswith(f"#f=0&l=stage:0&r=stage:{number}")
    again = Viewer(
        viewer.driver, Path(address.removeprefix("file://").partition("#")[0]), f"#f=0&l=stage:0&r=stage:{number}"
    )
    assert again.run("return viewer.views") == {"left": "stage:0", "right": f"stage:{number}"}


# --- search and theme -------------------------------------------------------------------------------------------------


def test_searching_the_text(viewer):
    viewer.open("Assembly")
    viewer.press("/")
    viewer.press("retq")
    until(lambda: re.fullmatch(r"1 of \d+", viewer.one("#hits").text), "a hit")
    current = viewer.one(".hit.current")
    assert current.text == "retq" and current.is_displayed()
    viewer.one("#query").clear()
    viewer.one("#query").send_keys("RETQ")
    until(lambda: viewer.one("#hits").text == "none", "capital letters are taken as they are")
    viewer.one("#query").clear()
    viewer.one("#query").send_keys("float")
    until(lambda: re.fullmatch(r"1 of \d\d+", viewer.one("#hits").text), "many hits")
    total = viewer.one("#hits").text.split()[-1]
    viewer.one("#query").send_keys("\n")
    assert viewer.one("#hits").text == f"2 of {total}"
    viewer.run("document.activeElement.blur()")
    viewer.press("N")
    viewer.press("N")
    assert viewer.one("#hits").text == f"{total} of {total}"
    viewer.press("n")
    assert viewer.one("#hits").text == f"1 of {total}"
    viewer.press("\ue00c")
    assert viewer.one("#hits").text == "" and not viewer.all(".hit")


def ground(viewer):
    return viewer.run("return getComputedStyle(document.body).backgroundColor")


def test_light_and_dark(viewer):
    viewer.driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    )
    dark = ground(viewer)
    viewer.driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": "light"}]}
    )
    light = ground(viewer)
    assert sum(map(int, re.findall(r"\d+", dark)[:3])) < 150 and sum(map(int, re.findall(r"\d+", light)[:3])) > 600
    viewer.one("#theme").click()
    assert ground(viewer) == dark
    viewer.press("t")
    assert ground(viewer) == light
    viewer.run("localStorage.clear()")


# --- several functions, hostile text ----------------------------------------------------------------------------------


def test_functions_of_a_module(driver, tmp_path):
    from selenium.webdriver.support.select import Select

    viewer = Viewer(driver, write(tmp_path, "module", render(MODULE)))
    select = Select(viewer.one("#functions"))
    assert [one.text for one in select.options] == ["M.scale", "M.main"]
    viewer.press("]")
    viewer.settled(lambda: any("T.exp" in text for text in viewer.lines("right").values()), "the other function")
    viewer.press("[")
    viewer.settled(lambda: not any("T.exp" in text for text in viewer.lines("right").values()), "the first function")
    select.select_by_visible_text("M.main")
    viewer.open("LLVM IR, as written")
    assert any("kernel_main" in text for text in viewer.lines("right").values())
    viewer.open("LLVM IR, optimized")
    assert any("define" in text for text in viewer.lines("right").values())


def test_a_program_that_cannot_be_compiled_says_why(driver, tmp_path):
    viewer = Viewer(driver, write(tmp_path, "why", render((EXAMPLES / "matmul.py").read_text(), passes="simplify")))
    viewer.open("Assembly")
    assert all("must be lowered" in text for text in viewer.texts(".message"))


def test_hostile_programs_are_text(driver, tmp_path):
    viewer = Viewer(driver, write(tmp_path, "evil", render(hostile(), filename=f"{EVIL}.py")))
    assert viewer.run("return document.title") == f"{EVIL}.py · tirscript"
    viewer.open("Source")
    shown = "\n".join(viewer.lines("left").values())
    assert shown.count(EVIL) == hostile().count(EVIL)
    for name in ("Whole pipeline", "LLVM IR, as written", "LLVM IR, optimized", "Assembly"):
        viewer.open(name)
        viewer.hover(viewer.one(".pane.left .code span"))
    assert viewer.run("return document.querySelectorAll('main img, main script').length") == 0
    assert viewer.texts("#file") == [f"{EVIL}.py"]


# --- the difference of texts ------------------------------------------------------------------------------------------

texts = st.lists(st.sampled_from(["a", "b", "  a", "c d", "c e", "x[i] = 1", "x[j] = 1", ""]), max_size=12)


def check_rows(left, right, rows):
    kinds = dict(enumerate(("same", "moved", "changed", "removed", "added")))
    assert [at for at in rows["left"] if at >= 0] == list(range(len(left)))
    assert [at for at in rows["right"] if at >= 0] == list(range(len(right)))
    for a, b, kind in zip(rows["left"], rows["right"], rows["kind"], strict=True):
        kind = kinds[kind]
        assert (kind == "removed") == (b < 0) and (kind == "added") == (a < 0)
        if kind == "same":
            assert left[a] == right[b]
        if kind == "moved":
            assert left[a] != right[b] and left[a].strip() == right[b].strip()
        if kind == "changed":
            assert left[a].strip() != right[b].strip()


@given(texts, texts)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_rows_hold_every_line_once_in_order(driver, left, right):
    if driver.execute_script("return typeof diffLines") != "function":
        pytest.fail("no page is open")
    check_rows(left, right, driver.execute_script("return diffLines(arguments[0], arguments[1])", left, right))


@given(texts, texts)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_large_texts_are_compared_by_their_anchors(driver, left, right):
    """Texts that are too large to compare in full: what occurs once on both sides holds them together."""
    left = [f"head {n}" for n in range(2500)] + left + [f"tail {n} {n % 7}" for n in range(600)]
    right = (
        right + [f"head {n}" for n in range(0, 2500, 2)] + left[2500:2504] + [f"tail {n} {n % 7}" for n in range(600)]
    )
    rows = driver.execute_script("return diffLines(arguments[0], arguments[1])", left, right)
    check_rows(left, right, rows)
    assert sum(kind < 2 for kind in rows["kind"]) >= 1850


def test_long_stretches_that_were_replaced_stand_beside_each_other(viewer):
    left, right = [f"old {n} {n}" for n in range(80)], [f"new text {n}" for n in range(70)]
    kinds = viewer.run("return diffLines(arguments[0], arguments[1]).kind", left, right)
    assert kinds == [2] * 70 + [3] * 10


def test_equal_texts_have_no_changes(viewer):
    lines = [f"line {n % 50}" for n in range(5000)]
    assert set(viewer.run("return diffLines(arguments[0], arguments[0]).kind", lines)) == {0}


# --- large programs ---------------------------------------------------------------------------------------------------


def large(size):
    """A page whose texts have `size` characters each, made of the sections of a small one."""
    small = make((EXAMPLES / "matmul.py").read_text(), compiled=True)
    sections = _Sections()

    def repeated(data, change=lambda at, text: text):
        text = data["text"].rstrip("\n") + "\n"
        times = size // len(text)
        made = {**data, "text": "".join(change(at, text) for at in range(times))}
        for key in ("source", "ir"):
            if key in data:
                made[key] = data[key][: text.count("\n")] * times
        if "places" in data:
            places = data["places"]
            last = sum(places[::3])
            made["places"] = places + ([places[0] + len(text) - last, *places[1:]]) * (times - 1)
        return made

    function = dict(small.function("matmul"))
    listed = {number: small.value(number) for number in set(function["stages"])}

    def marked(at, text):
        return text.replace("T.float32", "T.float64").replace("0.0", "9.9") if at % 1000 == 500 else text

    last = function["stages"][-1]
    numbers = {
        number: sections.add(repeated(data, marked if number == last else lambda at, text: text))
        for number, data in listed.items()
    }
    function["stages"] = [numbers[number] for number in function["stages"]]
    function["code"] = {view: sections.add(repeated(small.value(number))) for view, number in function["code"].items()}
    source = sections.add(small.value(small.manifest["source"]))
    first = sections.add({**small.manifest, "functions": [function], "source": source})
    return _html("large", sections.packed, first), repeated(listed[last])["text"].count("\n")


def test_a_module_of_twenty_megabytes(driver, tmp_path):
    text, count = large(20_000_000)
    viewer = Viewer(driver, write(tmp_path, "large", text), "#f=0&l=source&r=stage:0")
    assert viewer.run("return sections.size") <= 3, "nothing is unpacked before it is looked at"
    steps = {}

    def step(name, script):
        found = driver.execute_async_script(
            "const done = arguments[arguments.length - 1], start = performance.now();"
            f"(async () => {{ {script} }})().then(() => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start))))"
        )
        steps[name] = round(found)

    last = len(DEFAULT_LOWERING)
    step("open the last stage", f"await viewer.show('source', 'stage:{last}')")
    assert viewer.run("return viewer.right.listing.lines.length") in (count, count - 1)
    assert len(viewer.all(".pane.right .row")) < 300, "only lines in sight are in the page"
    step("scroll to the middle", "viewer.right.scroller.scrollTop = viewer.right.scroller.scrollHeight / 2")
    until(lambda: min(viewer.lines("right"), default=0) > count // 3, "lines of the middle")
    step("scroll to the end", "viewer.right.scroller.scrollTop = 1e9")
    until(lambda: max(viewer.lines("right"), default=0) >= count - 1, "the last lines")
    step("search", "document.getElementById('query').value = 'C_1[i * n'; viewer.search()")
    assert viewer.one("#hits").text == "1 of 20,000+"
    step("next hit", "viewer.step(1)")
    step("forget the search", "document.getElementById('query').value = ''; viewer.search()")
    step("choose a name", "viewer.choose(viewer.right, document.querySelector('.pane.right .symbol'))")
    assert viewer.texts(".pane.right .chosen")
    step("open assembly", "await viewer.open('assembly')")
    step("link a line", "await viewer.link(viewer.right, 40)")
    step("compare two stages", f"await viewer.show('stage:0', 'stage:{last}')")
    assert len(viewer.all(".pane.right .row")) < 300
    print("milliseconds:", steps)
