
"use strict";
(() => {
  const PAGE = 200;
  const data = JSON.parse(document.getElementById("data").textContent);
  const column = Object.fromEntries(data.columns.map((name, place) => [name, place]));
  const word = (row, name) => data.words[row[column[name]]];
  const FILTERS = ["verdict", "target", "device", "suite", "kind", "state", "cause"];
  const SEARCHED = ["verdict", "target", "suite", "case", "kernel", "how", "kind", "says"];
  const form = document.getElementById("filters");
  const body = document.getElementById("body");
  const more = document.getElementById("more");
  const count = document.getElementById("count");
  const lower = data.words.map((text) => text.toLowerCase());
  const view = { filters: {}, sort: "", down: false, rows: [], shown: 0 };

  const element = (tag, text, kind) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };

  const readHash = () => {
    const stated = location.hash.startsWith("#?") ? new URLSearchParams(location.hash.slice(2)) : null;
    view.filters = {};
    view.sort = "";
    if (!stated) return false;
    for (const name of ["q", ...FILTERS]) if (stated.get(name)) view.filters[name] = stated.get(name);
    const sort = stated.get("sort") || "";
    view.down = sort.startsWith("-");
    view.sort = Object.hasOwn(column, sort.replace(/^-/, "")) ? sort.replace(/^-/, "") : "";
    return true;
  };

  const writeHash = () => {
    const stated = new URLSearchParams(view.filters);
    if (view.sort) stated.set("sort", (view.down ? "-" : "") + view.sort);
    const text = stated.toString();
    history.replaceState(null, "", text ? "#?" + text : "#cases");
  };

  const select = () => {
    // A word is looked for once, not once a row: rows only hold the numbers of words.
    const exact = FILTERS.filter((name) => view.filters[name] !== undefined).map((name) => [
      column[name],
      name === "verdict" && view.filters[name] === "not PASS"
        ? (number) => data.words[number] !== "PASS"
        : (number) => data.words[number] === view.filters[name],
    ]);
    const asked = (view.filters.q || "").toLowerCase().split(/\s+/).filter(Boolean);
    const hits = asked.map((part) => lower.map((text) => text.includes(part)));
    const places = SEARCHED.map((name) => column[name]);
    view.rows = data.rows.filter(
      (row) => exact.every(([place, test]) => test(row[place])) && hits.every((hit) => places.some((place) => hit[row[place]])),
    );
    if (view.sort) {
      const place = column[view.sort];
      const value = view.sort === "ms" ? (row) => row[place] : (row) => data.words[row[place]];
      const sign = view.down ? -1 : 1;
      view.rows.sort((a, b) => (value(a) < value(b) ? -sign : value(a) > value(b) ? sign : 0));
    }
  };

  const detail = (row) => {
    const line = element("tr", undefined, "detail");
    const cell = element("td");
    cell.colSpan = 6;
    for (const name of ["kind", "device"]) {
      if (word(row, name)) cell.append(element("p", name + ": " + word(row, name)));
    }
    const repro = word(row, "repro");
    if (repro) {
      const shell = element("div", undefined, "repro");
      shell.append(element("code", repro), copier());
      cell.append(shell);
    }
    const cause = word(row, "cause");
    if (cause) {
      const link = element("a", "the cause and its picture");
      link.href = "#cause-" + cause;
      cell.append(link);
    }
    line.append(cell);
    return line;
  };

  const drawn = (row) => {
    const line = element("tr");
    const verdict = element("td");
    const opener = element("button", word(row, "verdict"), "verdict");
    opener.type = "button";
    opener.setAttribute("aria-expanded", "false");
    opener.addEventListener("click", () => {
      const open = opener.getAttribute("aria-expanded") === "true";
      opener.setAttribute("aria-expanded", String(!open));
      line.classList.toggle("open", !open);
      if (open) line.nextSibling.remove();
      else line.after(detail(row));
    });
    verdict.append(opener);
    if (word(row, "state")) verdict.append(" ", element("b", word(row, "state"), "state " + word(row, "state")));
    const kernel = [word(row, "kernel"), word(row, "how")].filter(Boolean).join(" ");
    const name = element("td", undefined, "case");
    if (word(row, "page")) {
      const link = element("a", word(row, "case"));
      link.href = word(row, "page");
      name.append(link);
    } else name.append(word(row, "case"));
    if (word(row, "says")) name.append(element("span", word(row, "says"), "says"));
    line.append(verdict, element("td", word(row, "target")), name, element("td", kernel, "kernel"));
    line.append(element("td", word(row, "suite")), element("td", String(row[column.ms]), "number"));
    return line;
  };

  const showMore = () => {
    const part = document.createDocumentFragment();
    for (const row of view.rows.slice(view.shown, view.shown + PAGE)) part.append(drawn(row));
    body.append(part);
    view.shown = Math.min(view.shown + PAGE, view.rows.length);
    more.hidden = view.shown >= view.rows.length;
    const cause = view.filters.cause ? " of cause " + view.filters.cause : "";
    count.textContent = `${view.rows.length} of ${data.rows.length} cases${cause}; ${view.shown} are listed.`;
  };

  const show = () => {
    select();
    body.replaceChildren();
    view.shown = 0;
    showMore();
    for (const control of form.elements) if (control.name) control.value = view.filters[control.name] || "";
    for (const head of document.querySelectorAll("th[data-sort]")) {
      const sorted = head.dataset.sort === view.sort;
      head.setAttribute("aria-sort", !sorted ? "none" : view.down ? "descending" : "ascending");
    }
  };

  const copier = () => {
    const button = element("button", "copy", "copy");
    button.type = "button";
    return button;
  };

  const copied = async (button) => {
    const code = button.parentNode.querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      const range = document.createRange();
      range.selectNodeContents(code);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      document.execCommand("copy");
    }
    button.textContent = "copied";
    setTimeout(() => (button.textContent = "copy"), 1500);
  };

  const arrive = () => {
    if (readHash()) {
      show();
      document.getElementById("cases").scrollIntoView();
      return;
    }
    const place = document.getElementById(location.hash.slice(1));
    const failure = place && (place.matches("details") ? place : place.querySelector("details.failure"));
    if (failure) failure.open = true;
  };

  for (const name of FILTERS.filter((one) => form.elements[one])) {
    const seen = new Map();
    for (const row of data.rows) seen.set(word(row, name), (seen.get(word(row, name)) || 0) + 1);
    seen.delete("");
    const choices = [...seen].sort();
    form.elements[name].append(new Option("all", ""));
    if (name === "verdict") form.elements[name].append(new Option("not PASS", "not PASS"));
    for (const [text, number] of choices) form.elements[name].append(new Option(`${text} (${number})`, text));
    form.elements[name].parentNode.hidden = choices.length === 0;
  }
  for (const head of document.querySelectorAll("th[data-sort]")) {
    const button = element("button", head.textContent);
    button.type = "button";
    button.addEventListener("click", () => {
      view.down = view.sort === head.dataset.sort && !view.down;
      view.sort = head.dataset.sort;
      writeHash();
      show();
    });
    head.replaceChildren(button);
  }
  let waiting = 0;
  form.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      const cause = view.filters.cause;
      view.filters = {};
      for (const control of form.elements) if (control.name && control.value) view.filters[control.name] = control.value;
      if (cause) view.filters.cause = cause;
      writeHash();
      show();
    }, 120);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    view.filters = {};
    view.sort = "";
    writeHash();
    show();
  });
  more.addEventListener("click", showMore);
  document.addEventListener("click", (event) => {
    if (event.target.matches("button.copy")) copied(event.target);
  });
  addEventListener("hashchange", arrive);
  form.hidden = false;
  document.querySelectorAll("button.copy").forEach((button) => (button.hidden = false));
  readHash();
  show();
  if (location.hash) arrive();
})();
