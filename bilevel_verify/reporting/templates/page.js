"use strict";
(() => {
  const root = document.documentElement;
  const $ = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];

  // One page at a time: the section that holds the target of the address is shown.
  const pages = all("section.page");
  // Inner pages of a large report lie in a compressed store; each is put in place when it is first opened.
  let store = null;
  const stored = $("#packed") && $("#packed").textContent;
  const inflate = async () => {
    const bytes = Uint8Array.from(atob(JSON.parse(stored)), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    store = JSON.parse(await new Response(stream).text());
  };
  const fill = (page) => {
    if (!store || !page || !page.dataset.packed) return;
    page.innerHTML = store.pages[Number(page.dataset.packed)];
    delete page.dataset.packed;
    name(page);
  };
  // On a narrow screen a row stands as a block: its numbers carry the heads of their columns with them.
  const name = (page) => all("table.stack", page).forEach((table) => {
    const heads = all("thead th", table).map((th) => th.textContent);
    all("tbody td.n", table).forEach((td) => { td.dataset.name = heads[td.cellIndex] || ""; });
  });
  const find = (name) => {
    if (store && name in store.places) fill($(`section[data-packed="${store.places[name]}"]`));
    const found = name ? document.getElementById(name) : null;
    if (found) fill(found.closest("section.page"));
    return found;
  };
  const show = (jump) => {
    let name = "";
    try { name = decodeURIComponent(location.hash.slice(1)); } catch { name = ""; }
    const target = find(name);
    const page = target ? target.closest("section.page") : pages[0];
    if (!page) return;
    pages.forEach((p) => p.classList.toggle("on", p === page));
    const group = page.dataset.group;
    all("nav.main a").forEach((a) => {
      if (a.dataset.group === group) a.setAttribute("aria-current", "page"); else a.removeAttribute("aria-current");
    });
    if (!jump) return;
    if (target && target !== page) {
      const fold = target.closest("details");
      if (fold) fold.open = true;
      target.scrollIntoView({ block: target.offsetHeight > innerHeight * 0.8 ? "start" : "center" });
    }
    else scrollTo(0, 0);
    const head = $("h2", page);
    if (head) { head.tabIndex = -1; head.focus({ preventScroll: true }); }
    if (group === "rows") drawRows();
  };
  addEventListener("hashchange", () => show(true));

  // Theme: follows the system until the reader chooses.
  const themeButton = $("#theme");
  const remembered = () => { try { return localStorage.getItem("bilevel-verify-theme"); } catch { return null; } };
  const applyTheme = (theme) => { if (theme) root.dataset.theme = theme; };
  applyTheme(remembered());
  themeButton.addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    applyTheme(dark ? "light" : "dark");
    try { localStorage.setItem("bilevel-verify-theme", root.dataset.theme); } catch { /* private window */ }
  });

  // Copy buttons: text from data-copy.
  const copied = (button) => {
    const before = button.textContent;
    button.textContent = "copied";
    setTimeout(() => { button.textContent = before; }, 1200);
  };
  const copyByHand = (text) => {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "visually-hidden";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-copy], button[data-copy-before]");
    if (!button) return;
    const text = button.dataset.copy ?? button.previousElementSibling.textContent;
    if (navigator.clipboard && isSecureContext) {
      navigator.clipboard.writeText(text).then(() => copied(button), () => copyByHand(text) && copied(button));
    } else if (copyByHand(text)) copied(button);
  });

  // Arrow keys move through the matrix.
  all("table.matrix").forEach((matrix) => matrix.addEventListener("keydown", (event) => {
    const steps = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] };
    const step = steps[event.key], cell = event.target.closest("td");
    if (!step || !cell) return;
    event.preventDefault();
    const rows = all("tbody tr", matrix).filter((r) => $("td", r));
    let r = rows.indexOf(cell.parentElement), c = cell.cellIndex;
    for (;;) {
      r += step[0]; c += step[1];
      const next = rows[r] && rows[r].cells[c];
      if (!next) return;
      const link = $("a", next);
      if (link) { link.focus(); return; }
    }
  }));

  // All rows: a table drawn from data, with a filter, a sort and no more than 200 lines at a time.
  let data = null, columns = {}, texts = [], size = 0, textual = new Set();
  const takeRows = (found) => { data = found; ({ columns, texts, shown: size } = data); textual = new Set(data.textual); };
  const value = (name, i) => {
    const v = columns[name][i];
    return v !== null && typeof v === "number" && textual.has(name) ? texts[v] : v;
  };
  const looks = JSON.parse($("#look-data").textContent);
  const number = (v) => {
    if (v === null || v === undefined) return "—";
    if (typeof v === "string") return v;
    if (v === 0) return "0";
    const a = Math.abs(v);
    const text = a >= 1e-3 && a < 1e6 ? String(Number(v.toPrecision(4))) : v.toExponential(2);
    return text.replace("-", "−").replace("e+", "e");
  };
  let haystack = null;
  const search = () => {
    if (!haystack) haystack = Array.from({ length: size }, (_, i) =>
      data.textual.map((n) => value(n, i) || "").join(" ").toLowerCase());
    return haystack;
  };
  const state = { sort: null, up: true, limit: 200 };
  const body = $("#rows-body"), status = $("#rows-status"), words = $("#rows-filter"), pick = $("#rows-verdict");
  const chosen = () => {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean), verdict = pick.value;
    const text = wanted.length ? search() : null;
    let found = [];
    for (let i = 0; i < size; i++) {
      if (verdict && value("verdict", i) !== verdict) continue;
      if (text && !wanted.every((w) => text[i].includes(w))) continue;
      found.push(i);
    }
    if (state.sort) {
      const key = (i) => { const v = value(state.sort, i); return state.sort === "verdict" ? looks[v].rank : v; };
      const sign = state.up ? 1 : -1;
      found.sort((a, b) => {
        const p = key(a), q = key(b);
        if (p === q) return a - b;
        if (p === null) return 1;
        if (q === null) return -1;
        return (typeof p === typeof q ? (p < q ? -1 : 1) : typeof p === "number" ? -1 : 1) * sign;
      });
    }
    return found;
  };
  const cell = (row, text, style) => { const td = row.insertCell(); td.textContent = text; if (style) td.className = style; return td; };
  const describe = (td, i) => {
    const details = document.createElement("details"), summary = document.createElement("summary"), list = document.createElement("dl");
    summary.textContent = "more";
    list.className = "row";
    for (const name of data.details) {
      const v = value(name, i);
      if (v === null || v === "") continue;
      const dt = document.createElement("dt"), dd = document.createElement("dd");
      dt.textContent = name;
      const set = data.textual.includes(name) && data.formulas[columns[name][i]];
      if (set && (name === "left" || name === "right")) dd.innerHTML = set; // escaped where it was made
      else dd.textContent = v;
      list.append(dt, dd);
    }
    details.append(summary, list);
    td.append(details);
  };
  const draw = (row, name, numeric, i) => {
    if (name === "verdict") {
      const look = looks[value(name, i)], badge = document.createElement("span");
      badge.className = "v " + look.style;
      badge.textContent = look.symbol + " " + value(name, i);
      row.insertCell().append(badge);
    } else if (name === "reason") describe(cell(row, value(name, i) || ""), i);
    else if (numeric) cell(row, number(columns[name][i]), "n").dataset.name = name;
    else cell(row, value(name, i) || "—");
  };
  const drawRows = () => {
    if (!data) return;
    const found = chosen(), fragment = document.createDocumentFragment();
    for (const i of found.slice(0, state.limit)) {
      const row = document.createElement("tr");
      for (const { name, numeric } of data.heads) draw(row, name, numeric, i);
      fragment.append(row);
    }
    body.replaceChildren(fragment);
    const hidden = data.total > size ? ` (the worst ${size} of ${data.total} rows are in this page)` : "";
    status.textContent = `${found.length} of ${size} rows${hidden}` + (found.length > state.limit ? `, the first ${state.limit} shown` : "");
    $("#rows-more").hidden = found.length <= state.limit;
  };
  let waiting = 0;
  const later = () => { clearTimeout(waiting); waiting = setTimeout(() => { state.limit = 200; drawRows(); }, 120); };
  words.addEventListener("input", later);
  pick.addEventListener("change", later);
  $("#rows-more").addEventListener("click", () => { state.limit += 400; drawRows(); });
  all("#rows-table th button").forEach((button) => button.addEventListener("click", () => {
    const name = button.dataset.column;
    state.up = state.sort === name ? !state.up : true;
    state.sort = name;
    all("#rows-table th").forEach((th) => th.removeAttribute("aria-sort"));
    button.closest("th").setAttribute("aria-sort", state.up ? "ascending" : "descending");
    drawRows();
  }));
  addEventListener("keydown", (event) => {
    if (event.key === "/" && !/INPUT|SELECT|TEXTAREA/.test(event.target.tagName)) {
      event.preventDefault();
      location.hash = "#rows";
      words.focus();
    }
  });

  // On paper everything is open.
  addEventListener("beforeprint", () => {
    pages.forEach(fill);
    all("details").slice(0, 500).forEach((d) => { d.open = true; });
  });

  const begin = () => {
    const rows = store ? store.rows : $("#row-data").textContent;
    takeRows(typeof rows === "string" ? JSON.parse(rows) : rows);
    all("section.page").forEach(name);
    show(Boolean(location.hash));
    root.dataset.ready = String(Math.round(performance.now())); // milliseconds until the page answers; for measurements
  };
  if (stored) {
    show(false);
    inflate().then(begin, () => { root.dataset.ready = "failed"; $("#rows-status").textContent = "this browser cannot unpack the page"; });
  } else begin();
})();
