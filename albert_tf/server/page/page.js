"use strict";

// What a signature does, in words; its fields; its request; and its answer as elements. Texts of strangers are only ever
// put in as text, never as markup.

const MASK = /\[MASK\]/i;
const SPACE = "\u2581";

const element = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children.filter((child) => child !== null));
  return made;
};

const percent = (value) => `${(100 * value).toFixed(1)} %`;

const bar = (value) => {
  const made = element("span");
  made.style.width = `${100 * Math.min(1, Math.max(0, value))}%`;
  return made;
};

const chances = (caption, rows, write = percent) =>
  element(
    "table",
    { class: write === percent ? "chances" : "sentences" },
    element("caption", {}, caption),
    element(
      "tbody",
      {},
      ...rows.map(([name, value]) =>
        element(
          "tr",
          {},
          element("th", { scope: "row" }, name),
          element("td", { class: "bar", "aria-hidden": "true" }, element("div", {}, bar(value))),
          element("td", { class: "number" }, write(value)),
        ),
      ),
    ),
  );

const best = (...children) => element("p", { class: "best" }, ...children);

// A space before a mask belongs to the piece that stood there, so a piece without one joins the word before it.
const filledIn = (text, pieces) => {
  const parts = text.split(MASK);
  const children = [];
  let before = parts[0];
  parts.slice(1).forEach((part, at) => {
    const piece = pieces[at] ?? "[MASK]";
    const word = piece.replaceAll(SPACE, " ");
    if (piece !== "[MASK]") before = before.trimEnd();
    children.push(before + (word.startsWith(" ") && before ? " " : ""), element("mark", {}, word.trim()));
    before = part;
  });
  return [...children, before];
};

const shownPiece = (piece) => (piece.startsWith(SPACE) ? piece.slice(1) || "(space)" : `…${piece}`);

const oneOrTwoTexts = {
  fields: [
    { name: "text", label: "Text" },
    { name: "text_pair", label: "Second text", optional: true },
  ],
  example: { text: "A charming film." },
  inputs: (values) => Object.fromEntries(Object.entries(values).map(([name, value]) => [name, [value]])),
};

const TASKS = {
  fill_mask: {
    title: "Fill in masks",
    fields: [{ name: "text", label: "Text", hint: "[MASK] where a word is missing", long: false }],
    example: { text: "The capital of France is [MASK]." },
    check: ({ text }) => (MASK.test(text) ? null : "Write [MASK] where a word is to be filled in."),
    inputs: ({ text }) => ({ text: [text], top_k: 5 }),
    show: ({ text }, outputs) => {
      const count = outputs.mask_count[0];
      const pieces = outputs.pieces[0].slice(0, count);
      return [
        best(...filledIn(text, pieces.map((row) => row[0]))),
        ...pieces.map((row, at) =>
          chances(
            count > 1 ? `Mask ${at + 1}` : "The likeliest",
            row.map((piece, rank) => [shownPiece(piece), outputs.probabilities[0][at][rank]]),
          ),
        ),
        text.split(MASK).length - 1 > count
          ? element("p", { class: "error" }, "The text is longer than the model takes; masks after its end were left out.")
          : null,
      ];
    },
  },
  sop_from_text: {
    title: "Judge the order",
    fields: [
      { name: "first", label: "First text" },
      { name: "second", label: "Second text" },
    ],
    example: { first: "It rained all night.", second: "So the road was wet in the morning." },
    inputs: ({ first, second }) => ({ first: [first], second: [second] }),
    show: (values, outputs) => [
      chances("The second text", [
        ["follows the first", outputs.in_order[0]],
        ["comes before it", outputs.swapped[0]],
      ]),
    ],
  },
  classify: {
    title: "Classify",
    ...oneOrTwoTexts,
    show: (values, outputs) => {
      const rows = outputs.labels[0].map((label, at) => [label, outputs.probabilities[0][at]]);
      rows.sort((one, other) => other[1] - one[1]);
      return [
        outputs.label ? best(element("mark", {}, outputs.label[0])) : null,
        chances(outputs.label ? "Probabilities" : "Probabilities, each of its own", rows),
      ];
    },
  },
  score: {
    title: "Score",
    ...oneOrTwoTexts,
    show: (values, outputs) => {
      const scores = Array.isArray(outputs) ? outputs : outputs.score;
      return [best("Score ", element("mark", {}, scores[0].toFixed(3)))];
    },
  },
  tag_text: {
    title: "Tag words",
    fields: [{ name: "text", label: "Text", hint: "words are what stands between spaces" }],
    example: { text: "Ada Lovelace lived in London ." },
    inputs: ({ text }) => ({ text: [text] }),
    show: (values, outputs) => [
      element(
        "p",
        { class: "words" },
        ...outputs.words[0].map((word, at) => {
          const tag = outputs.tags[0][at];
          const plain = tag === "O";
          return element(
            "span",
            { class: plain ? "word" : "word tagged" },
            element("small", {}, plain ? "\u00a0" : tag),
            word,
          );
        }),
      ),
    ],
  },
  find_entities: {
    title: "Find entities",
    fields: [{ name: "text", label: "Text", long: true }],
    example: { text: "Ada Lovelace lived in London." },
    inputs: ({ text }) => ({ text: [text] }),
    show: ({ text }, outputs) => {
      const characters = Array.from(text);
      const parts = [];
      // Spans that share characters with one before them stand below the text.
      const others = [];
      let shown = 0;
      outputs.labels[0].forEach((label, at) => {
        if (!label) return;
        const [from, to] = [outputs.starts[0][at], outputs.ends[0][at]];
        const marked = element("mark", {}, characters.slice(from, to).join(""), element("small", {}, ` ${label}`));
        if (from < shown) {
          others.push(element("p", { class: "passage" }, marked));
          return;
        }
        parts.push(characters.slice(shown, from).join(""), marked);
        shown = to;
      });
      if (!parts.length) return [best("There are none."), element("p", { class: "passage" }, text)];
      return [element("p", { class: "passage" }, ...parts, characters.slice(shown).join("")), ...others];
    },
  },
  choose: {
    title: "Choose",
    fields: [
      { name: "article", label: "Text", long: true },
      { name: "question", label: "Question", hint: "a blank _ is where an option goes" },
      { name: "options", label: "Options", hint: "one in each line", long: true },
    ],
    example: { article: "Ann lost her key, so she waited outside.", question: "Ann waited _ .", options: "inside\noutside" },
    inputs: ({ article, question, options }) => ({ article: [article], question: [question], options: [lines(options)] }),
    show: ({ options }, outputs) => {
      const names = lines(options);
      return [
        best(element("mark", {}, names[outputs.choice[0]])),
        chances("Probabilities", names.map((name, at) => [name, outputs.probabilities[0][at]])),
      ];
    },
  },
  answer: {
    title: "Answer",
    fields: [
      { name: "question", label: "Question" },
      { name: "context", label: "Text", hint: "in which the answer stands", long: true },
    ],
    example: { question: "Where did Ann wait?", context: "Ann lost her key, so she waited outside the house." },
    inputs: ({ question, context }) => ({ question: [question], context: [context] }),
    show: ({ context }, outputs) => {
      const [start, end] = [outputs.start[0], outputs.end[0]];
      if (end <= start) return [best("The text does not say."), element("p", { class: "passage" }, context)];
      // The model counts characters of Unicode, not the halves that JavaScript makes of some.
      const characters = Array.from(context);
      const part = (from, to) => characters.slice(from, to).join("");
      return [
        best(outputs.answer[0]),
        element("p", { class: "passage" }, part(0, start), element("mark", {}, part(start, end)), part(end)),
      ];
    },
  },
};

const NEAREST = {
  title: "Nearest sentences",
  fields: [{ name: "text", label: "Text" }],
  example: { text: "" },
  show: (values, outputs) => [
    chances("Nearest first, by cosine", outputs.nearest.map(({ sentence, cosine }) => [sentence, cosine]), (cosine) => cosine.toFixed(2)),
  ],
};

const lines = (text) => text.split("\n").map((line) => line.trim()).filter(Boolean);

const byId = (id) => document.getElementById(id);

const say = (text, isError = false) => {
  byId("status").textContent = text;
  byId("status").classList.toggle("error", isError);
};

const post = async (address, content) => {
  const response = await fetch(address, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(content),
  });
  const received = await response.json();
  if (!response.ok) throw new Error(received.error ?? `the server answered ${response.status}`);
  return received;
};

const ask = async (tab, values) => {
  if (tab.task === NEAREST) return post("page/nearest", { text: values.text });
  const content = { signature_name: tab.signature, inputs: tab.task.inputs(values) };
  const address = `v1/models/${encodeURIComponent(tab.model)}:predict`;
  byId("request-text").textContent =
    `curl ${new URL(address, location.href)} -d '${JSON.stringify(content).replaceAll("'", "'\\''")}'`;
  byId("request").hidden = false;
  return (await post(address, content)).outputs;
};

const makeForm = (tab) => {
  const fields = tab.task.fields.filter((field) => !tab.inputs || tab.inputs.includes(field.name));
  const parts = fields.flatMap((field) => {
    const label = element("label", { for: `field-${field.name}` }, field.label);
    const hint = field.optional ? "may be empty" : field.hint;
    if (hint) label.append(element("span", { class: "hint" }, ` — ${hint}`));
    const area = element("textarea", { id: `field-${field.name}`, name: field.name, rows: field.long ? 5 : 2 });
    area.classList.toggle("long", Boolean(field.long));
    area.value = tab.values?.[field.name] ?? tab.task.example[field.name] ?? "";
    return [label, area];
  });
  byId("form").replaceChildren(...parts, element("button", { type: "submit" }, "Ask"));
};

const valuesOf = (form) => Object.fromEntries([...form.querySelectorAll("textarea")].map((area) => [area.name, area.value]));

const missing = (tab, values) => {
  const empty = tab.task.fields.find((field) => field.name in values && !field.optional && !values[field.name].trim());
  return empty ? `${empty.label} is empty.` : tab.task.check?.(values) ?? null;
};

const start = (tabs) => {
  let current = null;

  const choose = (tab, focus) => {
    if (current) current.values = valuesOf(byId("form"));
    current = tab;
    for (const other of tabs) {
      other.button.setAttribute("aria-selected", String(other === tab));
      other.button.tabIndex = other === tab ? 0 : -1;
    }
    byId("panel").hidden = false;
    byId("panel").setAttribute("aria-labelledby", tab.button.id);
    byId("answer").replaceChildren();
    byId("request").hidden = true;
    say("");
    makeForm(tab);
    if (focus) tab.button.focus();
  };

  tabs.forEach((tab, number) => {
    tab.button = element(
      "button",
      { type: "button", role: "tab", id: `tab-${number}`, "aria-controls": "panel" },
      tab.task.title,
      tab.note ? element("small", {}, ` ${tab.note}`) : null,
    );
    tab.button.addEventListener("click", () => choose(tab, false));
    byId("tabs").append(tab.button);
  });

  byId("tabs").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const at = tabs.indexOf(current);
    const next = { Home: 0, End: tabs.length - 1 }[event.key] ?? (step ? (at + step + tabs.length) % tabs.length : null);
    if (next === null) return;
    event.preventDefault();
    choose(tabs[next], true);
  });

  byId("form").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("form").requestSubmit();
  });

  byId("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const tab = current;
    const values = valuesOf(byId("form"));
    const wrong = missing(tab, values);
    byId("answer").replaceChildren();
    if (wrong) return say(wrong, true);
    const button = byId("form").querySelector("button");
    button.disabled = true;
    say("Asking …");
    try {
      const outputs = await ask(tab, values);
      if (tab !== current) return;
      byId("answer").replaceChildren(...tab.task.show(values, outputs).filter((part) => part !== null));
      say("");
    } catch (error) {
      if (tab === current) say(error.message, true);
    } finally {
      button.disabled = false;
    }
  });

  choose(tabs[0], false);
};

const load = async () => {
  const about = await (await fetch("page/models")).json();
  const several = about.models.length > 1;
  const tabs = about.models.flatMap(({ name, signatures }) =>
    Object.entries(TASKS)
      .filter(([signature]) => signature in signatures)
      .map(([signature, task]) => ({ task, signature, model: name, inputs: signatures[signature], note: several ? name : "" })),
  );
  if (about.sentences) tabs.push({ task: NEAREST, note: `of ${about.sentences}` });
  if (tabs.length) start(tabs);
  else say("The models served here take ids alone; this page is for texts. See /v1/models/NAME/metadata.");
};

load().catch((error) => say(`The page could not be loaded: ${error.message}`, true));
