"use strict";
(() => {
  const $ = (selector, from = document) => [...from.querySelectorAll(selector)];
  const activity = document.getElementById("activity");
  const tools = document.getElementById("tools");
  const none = document.getElementById("none");
  let entries = $(".e", activity);
  const make = (name, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };

  // --- Bodies: what is folded is the text of a <noscript>, from which elements are made when they are needed
  const parser = new DOMParser();
  const unbuilt = (details) => details.querySelector(":scope > noscript");
  const build = (details) => {
    const source = unbuilt(details);
    // A parsed document runs nothing and loads nothing, and what is taken over from it is as inert.
    if (source) source.replaceWith(...parser.parseFromString(source.textContent, "text/html").body.childNodes);
  };
  const near = new IntersectionObserver((seen) => {
    for (const { isIntersecting, target } of seen) {
      if (!isIntersecting) continue;
      near.unobserve(target);
      $("details[open]", target).forEach(build);
    }
  }, { rootMargin: "1000px 0px" });
  // Unfolding all of a long page builds what comes into view.
  document.addEventListener("toggle", ({ target }) => {
    if (target.open && unbuilt(target)) near.observe(target.closest(".e"));
  }, true);
  document.addEventListener("click", ({ target }) => {
    const summary = target.closest("summary");
    if (summary) build(summary.parentElement);
  });
  const buildAll = () => $("#activity noscript").forEach((source) => build(source.parentElement));

  const spelled = { "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'" };
  // Attributes hold no bare ">": all text is escaped.
  const textOfSource = (source) => source.replace(/<[^>]*>/g, "").replace(/&(?:amp|lt|gt|quot|#39);/g, (name) => spelled[name]);
  const textIn = (element) => {
    const source = element.localName === "details" && unbuilt(element);
    if (source) return element.firstElementChild.textContent + textOfSource(source.textContent);
    let text = "";
    const walk = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode())
      text += node.parentElement.localName === "noscript" ? textOfSource(node.data) : node.data;
    return text;
  };
  const texts = new WeakMap();
  const textOf = (entry) => {
    if (!texts.has(entry)) texts.set(entry, textIn(entry).toLowerCase());
    return texts.get(entry);
  };
  const open = (element) => {
    for (let at = element; at; at = at.parentElement)
      if (at.localName === "details") {
        build(at);
        at.open = true;
      }
  };
  /** The element with an id, also if its body is yet to be built. */
  const find = (id) => {
    const found = document.getElementById(id);
    if (found || !/^[\w-]+$/.test(id)) return found;
    const source = $("#activity noscript").find((source) => source.textContent.includes(` id="${id}"`));
    if (source) build(source.parentElement);
    return document.getElementById(id);
  };

  // --- Search and filters
  const state = { words: "", only: "", tools: new Set() };
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
    (!state.only || troubles[state.only].has(entry)) &&
    (!state.tools.size || state.tools.has(entry.dataset.tool || "." + entry.dataset.kind)) &&
    (!state.words || textOf(entry).includes(state.words));
  /** Where the words are in what is built of an element, those alone that can be seen. */
  const rangesIn = (element, most) => {
    const ranges = [];
    const walk = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node && ranges.length < most; node = walk.nextNode()) {
      if (node.parentElement.localName === "noscript") continue;
      const text = node.data.toLowerCase();
      for (let at = text.indexOf(state.words); at >= 0; at = text.indexOf(state.words, at + state.words.length)) {
        if (at + state.words.length > node.length) break;
        const range = new Range();
        range.setStart(node, at);
        range.setEnd(node, at + state.words.length);
        ranges.push(range);
      }
    }
    return ranges;
  };
  const paint = (name, ranges) => {
    if (!window.Highlight || !CSS.highlights) return;
    if (ranges.length) CSS.highlights.set(name, new Highlight(...ranges));
    else CSS.highlights.delete(name);
  };
  const highlight = () => {
    const ranges = [];
    if (state.words)
      for (const entry of shown) {
        if (ranges.length >= 2000) break;
        ranges.push(...rangesIn(entry, 2000 - ranges.length));
      }
    paint("found", ranges);
    paint("hit", []);
  };
  const uncover = (entry) => {
    for (const fold of $("details", entry))
      if (textIn(fold).toLowerCase().includes(state.words)) {
        build(fold);
        fold.open = true;
      }
  };
  let shown = entries;
  // Which entry the search is at, and which of its hits.
  let hit = { entry: null, at: -1 };
  const isActive = () => Boolean(state.words || state.only || state.tools.size);
  const apply = () => {
    const active = isActive();
    shown = entries.filter((entry) => {
      const fit = fits(entry);
      if (entry.hidden === fit) entry.hidden = !fit;
      return fit;
    });
    for (const fold of $(".inside", activity)) {
      fold.hidden = active && !fold.querySelector(".e:not([hidden])");
      if (active && !fold.hidden) fold.open = true;
    }
    // One that was never near has an estimated height, which would be a gap.
    for (const chunk of $(".chunk", activity)) chunk.hidden = active && !chunk.querySelector(".e:not([hidden])");
    if (state.words) shown.slice(0, 100).forEach(uncover);
    none.hidden = shown.length > 0;
    hit = { entry: null, at: -1 };
    highlight();
    remember("");
    goOn(1);
    count.textContent = active ? `${shown.length} of ${entries.length}` : "";
  };
  /** Scrolls the box that a hit is in, if that scrolls. */
  const scrollBox = (range) => {
    const box = range.startContainer.parentElement.closest("pre, .scroll");
    if (!box) return;
    const [inner, outer] = [range.getBoundingClientRect(), box.getBoundingClientRect()];
    if (inner.top < outer.top || inner.bottom > outer.bottom) box.scrollTop += inner.top - outer.top - outer.height / 3;
    if (inner.left < outer.left || inner.right > outer.right) box.scrollLeft += inner.left - outer.left - outer.width / 3;
  };
  /** Goes to the next hit of the search, or the one before; from the last to the first. */
  const goOn = (by) => {
    if (!state.words || !shown.length) return;
    let index = shown.indexOf(hit.entry);
    let at = index < 0 ? NaN : hit.at + by;
    let ranges = index < 0 ? [] : rangesIn(hit.entry, 2000).filter((range) => range.getClientRects().length);
    // At its start and its end an entry is left for the one before or behind it.
    if (!(at >= 0 && at < ranges.length)) {
      index = index < 0 ? (by > 0 ? 0 : shown.length - 1) : (index + by + shown.length) % shown.length;
      open(shown[index].parentElement);
      uncover(shown[index]);
      highlight();
      ranges = rangesIn(shown[index], 2000).filter((range) => range.getClientRects().length);
      at = by > 0 ? 0 : ranges.length - 1;
    }
    hit = { entry: shown[index], at };
    mark(hit.entry);
    if (ranges[at]) {
      paint("hit", [ranges[at]]);
      scrollBox(ranges[at]);
      place(() => ranges[at].getBoundingClientRect(), hit.entry);
    } else place(() => hit.entry.getBoundingClientRect(), hit.entry);
    count.textContent = `${index + 1} of ${shown.length} found`;
  };
  // A page that grows says when it has.
  document.addEventListener("grown", () => {
    entries = $(".e", activity);
    tally();
    if (isActive()) {
      const at = scrollY;
      apply();
      scrollTo(0, at);
    } else shown = entries;
  });
  let later;
  search.addEventListener("input", () => {
    clearTimeout(later);
    later = setTimeout(() => {
      searchFor(search.value);
    }, 120);
  });
  const searchFor = (words) => {
    clearTimeout(later);
    words = words.trim().toLowerCase();
    if (words === state.words) return;
    state.words = words;
    apply();
  };
  search.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    if (search.value.trim().toLowerCase() === state.words) goOn(event.shiftKey ? -1 : 1);
    else searchFor(search.value);
  });
  const failed = (entry) => entry.classList.contains("failed");
  const isCall = ({ dataset }) => dataset.kind === "call" || dataset.kind === "result";
  const troubles = {};
  const only = (name) => (on) => {
    state.only = on ? name : "";
    for (const [other, made] of Object.entries(fails)) made.setAttribute("aria-pressed", on && other === name);
  };
  const fails = {};
  const fold = (wanted) => {
    for (const details of $("#activity details")) if (details.open !== wanted) details.open = wanted;
  };
  const chips = new Map();
  const bar = make("div", { className: "bar" });
  const row = make("div", { className: "chips", tabIndex: 0 });
  row.setAttribute("role", "group");
  row.setAttribute("aria-label", "Show only");
  /** Counts what there is, and offers to show a part of it. */
  const tally = () => {
    // Calls that failed are counted as the timeline and the answer count them; what else went wrong, by itself.
    troubles.failed = new Set(entries.filter((entry) => failed(entry) && isCall(entry)));
    troubles.errors = new Set(entries.filter((entry) => failed(entry) && !isCall(entry)));
    for (const [name, words] of [["failed", "Failed"], ["errors", "Errors"]]) {
      const { size } = troubles[name];
      if (!fails[name] && size) bar.insertBefore(fails[name] = toggle("", only(name), "fail"), unfold);
      if (fails[name]) fails[name].textContent = `${words} ${size}`;
    }
    const counts = new Map();
    for (const { dataset } of entries) {
      const name = dataset.tool || "." + dataset.kind;
      counts.set(name, (counts.get(name) || 0) + 1);
    }
    for (const [name, number] of [...counts].sort((a, b) => b[1] - a[1])) {
      if (!chips.has(name) && chips.size === 24) continue;
      if (!chips.has(name)) chips.set(name, toggle("", (on) => state.tools[on ? "add" : "delete"](name)));
      chips.get(name).textContent = `${name.startsWith(".") ? name.slice(1) : name} ${number}`;
    }
    if (chips.size > 1 && row.childElementCount !== chips.size) row.replaceChildren(...chips.values());
    if (chips.size > 1 && !row.isConnected) tools.append(row);
  };
  const help = make("dialog");
  const keys = {
    "/": "search", "Enter": "next hit", "j, k": "next, previous", "n, p": "next, previous failure", "o": "fold or unfold",
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
  const unfold = button("Unfold all", () => fold(true));
  bar.append(search, count, unfold, button("Fold all", () => fold(false)), helper);
  tools.append(bar);
  tally();
  tools.hidden = false;

  // --- A long answer: its beginning first, so that the activity begins on the first screen
  const answers = [];
  for (const reply of $("#answer > .reply")) {
    if (entries.length < 3 || reply.offsetHeight < innerHeight / 2) continue;
    if (activity.getBoundingClientRect().top + scrollY < innerHeight) break;
    const made = button("", () => cut(!reply.classList.contains("cut")));
    const cut = (on) => {
      reply.classList.toggle("cut", on);
      made.textContent = on ? "Show all" : "Show less";
      made.setAttribute("aria-expanded", !on);
      reply.scrollTop = 0;
    };
    reply.append(make("p", { className: "all" }, made));
    cut(true);
    answers.push(() => cut(false));
    // What scrolls it leads to a place that is cut: the browser's search, a selection, a key.
    reply.addEventListener("scroll", () => cut(false));
    reply.addEventListener("focusin", ({ target }) => target === made || target === reply || cut(false));
  }
  const showAnswers = () => answers.forEach((show) => show());

  // --- Going about
  let here = null;
  /** Scrolls so that what has this box is in the upper third of the window. */
  const place = (box, element) => {
    element.scrollIntoView({ block: "start" });
    // Entries that were never near had an estimated height only: where all is settles with the next pictures.
    const settle = (times) => {
      const least = tools.getBoundingClientRect().bottom + 12;
      const { top } = box();
      if (top < least || top > innerHeight / 3) scrollBy(0, top - Math.max(least, innerHeight / 5));
      if (times) requestAnimationFrame(() => settle(times - 1));
    };
    settle(2);
  };
  const mark = (entry) => {
    here?.classList.remove("here");
    here = entry;
    here.classList.add("here");
  };
  const go = (entry) => {
    if (!entry) return;
    mark(entry);
    open(entry.parentElement);
    entry.focus({ preventScroll: true });
    place(() => entry.getBoundingClientRect(), entry);
  };
  const step = (by, wanted = () => true) => {
    const among = shown.filter(wanted);
    let at = among.indexOf(here);
    if (at < 0 && here) {
      const after = among.findIndex((entry) => here.compareDocumentPosition(entry) & Node.DOCUMENT_POSITION_FOLLOWING);
      at = by > 0 ? (after < 0 ? among.length : after) - 1 : after < 0 ? among.length : after;
    } else if (at < 0) at = by > 0 ? -1 : among.length;
    go(among[Math.min(Math.max(at + by, 0), among.length - 1)]);
  };
  const visit = (id) => {
    const target = id && find(id);
    if (!target) return;
    if (target.closest(".e[hidden]")) clear();
    open(target);
    if (target.closest(".cut")) showAnswers();
    const entry = target.closest(".e");
    if (entry && activity.contains(entry)) {
      go(entry);
      if (entry !== target) place(() => target.getBoundingClientRect(), target);
    } else target.scrollIntoView({ block: "start" });
  };
  const press = () => {
    for (const [name, made] of Object.entries(fails)) made.setAttribute("aria-pressed", state.only === name);
    for (const [name, made] of chips) made.setAttribute("aria-pressed", state.tools.has(name));
  };
  const clear = () => {
    clearTimeout(later);
    search.value = state.words = state.only = "";
    state.tools.clear();
    press();
    apply();
  };

  // --- The address: #e-… is an entry, #q=…&only=failed&tool=… a search and filters, and both may be there
  const read = () => {
    const [first, ...rest] = location.hash.slice(1).split("&");
    const id = first.includes("=") ? "" : first;
    return { id, wanted: new URLSearchParams((id ? rest : [first, ...rest]).join("&")) };
  };
  const remember = (id) => {
    const wanted = new URLSearchParams();
    if (state.words) wanted.set("q", search.value.trim());
    if (state.only) wanted.set("only", state.only);
    for (const name of state.tools) wanted.append("tool", name);
    const hash = [id, wanted.toString()].filter(Boolean).join("&");
    if (hash === location.hash.slice(1)) return;
    try {
      history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
    } catch { /* a page within another may have no address to change */ }
  };
  const restore = () => {
    const { id, wanted } = read();
    // A link to an entry alone leaves the search as it is.
    if (!id || [...wanted].length) {
      search.value = wanted.get("q") ?? "";
      state.words = search.value.trim().toLowerCase();
      state.only = Object.hasOwn(fails, wanted.get("only") ?? "") ? wanted.get("only") : "";
      state.tools = new Set(wanted.getAll("tool").filter((name) => chips.has(name)));
      press();
      apply();
    }
    visit(id);
    if (isActive()) remember(id);
  };
  const actions = {
    "/": () => { search.focus(); search.select(); },
    j: () => step(1), k: () => step(-1), n: () => step(1, failed), p: () => step(-1, failed),
    o: () => {
      const details = here?.querySelector("details");
      if (!details) return;
      build(details);
      details.open = !details.open;
    },
    e: () => fold(true), c: () => fold(false), f: () => Object.values(fails)[0]?.click(),
    g: () => scrollTo(0, 0), G: () => scrollTo(0, document.body.scrollHeight), "?": () => help.showModal(),
  };
  addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !help.open) { clear(); search.blur(); return; }
    // The browser's own search finds what has elements.
    if ((event.ctrlKey || event.metaKey) && event.key === "f") {
      buildAll();
      showAnswers();
    }
    if (event.ctrlKey || event.metaKey || event.altKey || help.open || event.target.matches("input, textarea")) return;
    if (!Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  });
  document.addEventListener("click", (event) => {
    const bar = event.target.closest("rect[data-e]");
    if (bar) location.hash = bar.dataset.e;
  });
  addEventListener("hashchange", restore);
  if (location.hash) restore();

  // --- Printing: all of it, and then as it was
  let folded = [];
  addEventListener("beforeprint", () => {
    buildAll();
    folded = $("#activity details:not([open])");
    fold(true);
  });
  addEventListener("afterprint", () => {
    for (const details of folded.splice(0)) details.open = false;
  });
})();
