"use strict";
(() => {
  const $ = (selector, from = document) => [...from.querySelectorAll(selector)];
  const activity = document.getElementById("activity");
  const tools = document.getElementById("tools");
  const none = document.getElementById("none");
  const entries = $(".e", activity);
  const make = (name, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };
  const texts = new WeakMap();
  const textOf = (entry) => {
    if (!texts.has(entry)) texts.set(entry, entry.textContent.toLowerCase());
    return texts.get(entry);
  };
  const open = (element) => {
    for (let at = element; at; at = at.parentElement) if (at.localName === "details") at.open = true;
  };

  // --- Search and filters
  const state = { words: "", failed: false, tools: new Set() };
  const search = make("input", { type: "search", placeholder: "Search  ( / )", autocomplete: "off", spellcheck: false });
  search.setAttribute("aria-label", "Search the activity");
  const count = make("span", { className: "count" });
  count.setAttribute("role", "status");
  const button = (text, press, className = "") => {
    const made = make("button", { type: "button", textContent: text, className });
    made.addEventListener("click", () => press(made));
    return made;
  };
  const toggle = (text, press, className) => {
    const made = button(text, () => {
      const on = made.getAttribute("aria-pressed") !== "true";
      made.setAttribute("aria-pressed", on);
      press(on);
      apply();
    }, className);
    made.setAttribute("aria-pressed", "false");
    return made;
  };
  const fits = (entry) =>
    (!state.failed || entry.classList.contains("failed")) &&
    (!state.tools.size || state.tools.has(entry.dataset.tool || "." + entry.dataset.kind)) &&
    (!state.words || textOf(entry).includes(state.words));
  const highlight = (shown) => {
    if (!window.Highlight || !CSS.highlights) return;
    CSS.highlights.delete("found");
    if (!state.words) return;
    const ranges = [];
    for (const entry of shown) {
      const walk = document.createTreeWalker(entry, NodeFilter.SHOW_TEXT);
      for (let node = walk.nextNode(); node && ranges.length < 2000; node = walk.nextNode()) {
        const text = node.data.toLowerCase();
        for (let at = text.indexOf(state.words); at >= 0; at = text.indexOf(state.words, at + state.words.length)) {
          const range = new Range();
          if (at + state.words.length > node.length) break;
          range.setStart(node, at);
          range.setEnd(node, at + state.words.length);
          ranges.push(range);
        }
      }
    }
    CSS.highlights.set("found", new Highlight(...ranges));
  };
  const apply = () => {
    const active = state.words || state.failed || state.tools.size;
    const shown = entries.filter((entry) => {
      entry.hidden = !fits(entry);
      return !entry.hidden;
    });
    for (const fold of $(".inside", activity)) {
      fold.hidden = active && !fold.querySelector(".e:not([hidden])");
      if (active && !fold.hidden) fold.open = true;
    }
    if (state.words)
      for (const entry of shown.slice(0, 200))
        for (const fold of $("details", entry)) if (fold.textContent.toLowerCase().includes(state.words)) fold.open = true;
    none.hidden = shown.length > 0;
    count.textContent = active ? `${shown.length} of ${entries.length}` : "";
    highlight(shown);
  };
  let later;
  search.addEventListener("input", () => {
    clearTimeout(later);
    later = setTimeout(() => {
      state.words = search.value.trim().toLowerCase();
      apply();
    }, 120);
  });
  const failures = entries.filter((entry) => entry.classList.contains("failed")).length;
  const fail = toggle(`Failed ${failures}`, (on) => (state.failed = on), "fail");
  const fold = (wanted) => $("#activity details").forEach((details) => (details.open = wanted));
  const counts = new Map();
  for (const { dataset } of entries) {
    const name = dataset.tool || "." + dataset.kind;
    counts.set(name, (counts.get(name) || 0) + 1);
  }
  const chips = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 24).map(([name, number]) =>
    toggle(`${name.startsWith(".") ? name.slice(1) : name} ${number}`, (on) => state.tools[on ? "add" : "delete"](name)));
  const help = make("dialog");
  const keys = {
    "/": "search", "j, k": "next, previous", "n, p": "next, previous failure", "o": "fold or unfold",
    "e, c": "unfold, fold all", "f": "failures only", "g, G": "start, end", "Esc": "clear", "?": "this",
  };
  help.setAttribute("aria-label", "Keys");
  help.append(make("h2", { textContent: "Keys" }), make("dl", {}, ...Object.entries(keys).flatMap(([key, meaning]) => [
    make("dt", {}, ...key.split(", ").flatMap((part) => [make("kbd", { textContent: part }), " "])),
    make("dd", { textContent: meaning }),
  ])));
  help.addEventListener("click", () => help.close());
  document.body.append(help);
  const helper = button("?", () => help.showModal(), "help");
  helper.setAttribute("aria-label", "Keys");
  tools.append(
    make("div", { className: "bar" }, search, count, ...(failures ? [fail] : []),
      button("Unfold all", () => fold(true)), button("Fold all", () => fold(false)), helper),
    ...(chips.length > 1 ? [make("div", { className: "chips" }, ...chips)] : []));
  const row = tools.querySelector(".chips");
  if (row) {
    row.setAttribute("role", "group");
    row.setAttribute("aria-label", "Show only");
    row.tabIndex = 0;
  }
  tools.hidden = false;

  // --- Going about
  let here = null;
  const go = (entry) => {
    if (!entry) return;
    here?.classList.remove("here");
    here = entry;
    here.classList.add("here");
    open(entry.parentElement);
    entry.focus({ preventScroll: true });
    entry.scrollIntoView({ block: "nearest" });
  };
  const step = (by, wanted = () => true) => {
    const shown = entries.filter((entry) => !entry.hidden && wanted(entry));
    let at = shown.indexOf(here);
    if (at < 0 && here) {
      const after = shown.findIndex((entry) => here.compareDocumentPosition(entry) & Node.DOCUMENT_POSITION_FOLLOWING);
      at = by > 0 ? (after < 0 ? shown.length : after) - 1 : after < 0 ? shown.length : after;
    } else if (at < 0) at = by > 0 ? -1 : shown.length;
    go(shown[Math.min(Math.max(at + by, 0), shown.length - 1)]);
  };
  const visit = (id) => {
    const target = id && document.getElementById(id);
    if (!target) return;
    if (target.closest(".e[hidden]")) clear();
    open(target);
    const entry = target.closest(".e");
    if (entry && activity.contains(entry)) go(entry);
    target.scrollIntoView({ block: "start" });
  };
  const clear = () => {
    search.value = state.words = "";
    state.failed = false;
    state.tools.clear();
    for (const pressed of $("[aria-pressed]", tools)) pressed.setAttribute("aria-pressed", "false");
    apply();
  };
  const failed = (entry) => entry.classList.contains("failed");
  const actions = {
    "/": () => { search.focus(); search.select(); },
    j: () => step(1), k: () => step(-1), n: () => step(1, failed), p: () => step(-1, failed),
    o: () => { const details = here?.querySelector("details"); if (details) details.open = !details.open; },
    e: () => fold(true), c: () => fold(false), f: () => failures && fail.click(),
    g: () => scrollTo(0, 0), G: () => scrollTo(0, document.body.scrollHeight), "?": () => help.showModal(),
  };
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !help.open) { clear(); search.blur(); return; }
    if (event.ctrlKey || event.metaKey || event.altKey || help.open || event.target.matches("input, textarea")) return;
    if (!Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  });
  document.addEventListener("click", (event) => {
    const bar = event.target.closest("rect[data-e]");
    if (bar) location.hash = bar.dataset.e;
  });
  addEventListener("hashchange", () => visit(location.hash.slice(1)));
  visit(location.hash.slice(1));
  addEventListener("beforeprint", () => fold(true));
})();
