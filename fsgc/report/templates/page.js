"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const percent = (share, digits = 2) => (100 * share).toFixed(digits);
  const signed = (share) => (share > 0 ? "+" : share < 0 ? "−" : "") + percent(Math.abs(share));
  const pValue = (p) => (p < 1e-12 ? "< 1e−12" : p < 0.001 ? p.toExponential(0).replace("-", "−") : p.toFixed(3));

  /** An element with attributes and children; text is never parsed as HTML. */
  function make(tag, attributes = {}, ...children) {
    const svg = ["svg", "path", "text", "title"].includes(tag);
    const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  }

  // ---- sorting: descending, ascending, then the order of the table again ----
  function sortable(table) {
    const bodies = [...table.tBodies];
    const original = bodies.map((body) => [...body.rows]);
    const heads = [...table.querySelectorAll("th[data-column]")];
    function arrange(column, order) {
      bodies.forEach((body, i) => body.replaceChildren(...original[i]));
      if (order === "none") return;
      const key = (row) => {
        const cell = row.cells[column];
        return column === 0 ? cell.textContent : cell.dataset.number === undefined ? null : Number(cell.dataset.number);
      };
      const rows = original.flat().filter((row) => !row.classList.contains("group"));
      const sign = order === "descending" ? -1 : 1;
      rows.sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x === null || y === null) return (x === null) - (y === null);
        return sign * (column === 0 ? x.localeCompare(y) : x - y);
      });
      bodies.forEach((body) => body.replaceChildren());
      bodies[0].append(...rows);
    }
    for (const head of heads) {
      head.querySelector("button").addEventListener("click", () => {
        const next = { none: "descending", descending: "ascending", ascending: "none" }[head.getAttribute("aria-sort") || "none"];
        heads.forEach((other) => other.setAttribute("aria-sort", other === head ? next : "none"));
        arrange(Number(head.dataset.column), next);
      });
    }
  }
  document.querySelectorAll("table.values").forEach(sortable);

  // ---- details of a result ----
  function definitions(entries) {
    const list = make("dl");
    for (const [term, text] of entries) if (text !== null && text !== undefined && text !== "") list.append(make("dt", {}, term), make("dd", {}, String(text)));
    return list;
  }

  function chart(label, train, val, unit) {
    const [width, height, left, bottom, top] = [360, 200, 44, 24, 24];
    const values = [...(train || []), ...(val || [])].filter(Number.isFinite);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const epochs = Math.max((train || []).length, (val || []).length);
    const x = (i) => left + (epochs > 1 ? (i / (epochs - 1)) * (width - left - 10) : 0);
    const y = (v) => top + (high > low ? (high - v) / (high - low) : 0.5) * (height - top - bottom);
    const point = (v, i, series) => Number.isFinite(v) ? `${i && Number.isFinite(series[i - 1]) ? "L" : "M"}${x(i).toFixed(1)} ${y(v).toFixed(1)}` : "";
    const line = (series, kind) => make("path", { class: kind, d: series.map(point).join("") });
    const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${label} by ${unit}` });
    svg.append(
      make("path", { class: "axis", d: `M${left} ${top}V${height - bottom}H${width - 8}` }),
      make("text", { x: 4, y: top + 4 }, high.toPrecision(3)), make("text", { x: 4, y: height - bottom }, low.toPrecision(3)),
      make("text", { x: left, y: height - 6 }, `${unit} 1`), make("text", { x: width - 8, y: height - 6, "text-anchor": "end" }, String(epochs)),
      make("text", { x: left, y: 12 }, label),
      make("text", { x: width - 110, y: 12, class: "train-label" }, train ? "training" : ""),
      make("text", { x: width - 8, y: 12, "text-anchor": "end", class: "val-label" }, val ? "validation" : ""));
    if (train) svg.append(line(train, "train"));
    if (val) svg.append(line(val, "val"));
    return svg;
  }

  function confusionTable({ classes, counts }) {
    const table = make("table", { class: "confusion" });
    table.append(make("caption", {}, "Share of each true class (row) taken for each class (column), in per cent"));
    const head = make("tr", {}, make("th", { scope: "col" }, "true class"), ...classes.map((c) => make("th", { scope: "col" }, String(c))));
    table.append(make("thead", {}, head));
    const body = make("tbody");
    counts.forEach((row, i) => {
      const total = row.reduce((a, b) => a + b, 0);
      body.append(make("tr", {}, make("th", { scope: "row" }, String(classes[i])), ...row.map((n) => {
        const share = total ? n / total : 0;
        return make("td", { style: `background: rgba(var(--heat), ${(0.55 * share).toFixed(3)})` }, percent(share, 1));
      })));
    });
    table.append(body);
    return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Confusion matrix" }, table);
  }

  function intervalTable(intervals) {
    const head = make("tr", {}, ...["over", "from", "to", "±"].map((h) => make("th", { scope: "col" }, h)), make("th", { scope: "col", class: "words" }, "what would vary"));
    const rows = intervals.map(({ name, ends: [low, high], covers }) => make("tr", {}, make("th", { scope: "row" }, name),
      ...[percent(low), percent(high), percent((high - low) / 2)].map((t) => make("td", {}, t)), make("td", { class: "words" }, covers)));
    const table = make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows));
    return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Intervals" }, table);
  }

  function searchTable(rows) {
    const head = make("tr", {}, ...["choice", "views", "γ", "ε", "ρ", "τ", "accuracy"].map((h) => make("th", { scope: "col", ...(h === "views" ? { class: "words" } : {}) }, h)));
    const body = rows.map(([views, gamma, epsilon, rho, tau, accuracy, better], i) => make("tr", {}, make("th", { scope: "row" }, String(i + 1)),
      make("td", { class: "words" }, views), ...[gamma, epsilon, rho, tau].map((v) => make("td", {}, String(v))), make("td", {}, better ? make("b", {}, percent(accuracy)) : percent(accuracy))));
    const table = make("table", { class: "search" }, make("thead", {}, head), make("tbody", {}, ...body));
    return make("details", {}, make("summary", {}, `Every choice that the search tried (${rows.length})`),
      make("p", { class: "notes" }, "Accuracy on classes that play novel ones; bold where it was the best so far and taken."),
      make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "The search" }, table));
  }

  function result(one) {
    const parts = [];
    if (one.stale && one.stale.length) {
      const changed = make("details", one.stale.length > 3 ? {} : { open: "" }, make("summary", {}, `What has changed since (${one.stale.length})`));
      changed.append(make("ul", { class: "notes" }, ...one.stale.map((reason) => make("li", {}, reason))));
      parts.push(make("p", { class: "trouble" }, "Stale: computed with other code or settings than the current ones."), changed);
    }
    if (one.trouble) parts.push(make("p", { class: "trouble" }, one.trouble));
    if (one.accuracy !== undefined) {
      const ofFirst = one.seeds.length > 1 ? ", first seed" : "";
      parts.push(definitions([
        ["Accuracy", `${percent(one.accuracy)} % over ${one.episodes} episodes, ${one.way}-way ${one.shots}-shot, ${one.queries} queries per class`],
        ["Seeds", one.seeds.map((s) => `${s.seed}: ${percent(s.accuracy)}`).join(", ")],
        ["Macro F1", one.macroF1 === null ? "" : percent(one.macroF1)],
        ["The paper's accuracy", one.paper === null ? "" : `${one.paper}${one.comparable ? ` (ours minus it: ${signed(one.accuracy - one.paper / 100)})` : ", for orientation only"}`],
        ["Transductive", one.transductive ? "yes: predictions depend on the other queries" : "no"],
        [`Training${ofFirst}`, one.training.epochs ? `${one.training.seconds.toFixed(0)} s, ${one.training.epochs} ${one.training.unit}s, best ${one.training.best_epoch}; ${one.training.parameters} parameters` : "no epochs"],
        [`Test${ofFirst}`, one.testSeconds ? `${one.testSeconds.toFixed(1)} s` : ""],
      ]));
      parts.push(make("h3", {}, "95 % intervals"), intervalTable(one.intervals), make("p", { class: "notes" }, one.seedsFrom));
      parts.push(make("h3", {}, "Training curves"));
      const { loss, val_loss: valLoss, accuracy, val_accuracy: valAccuracy } = one.curves;
      const charts = make("div", { class: "charts" });
      if (loss || valLoss) charts.append(chart("loss", loss, valLoss, one.training.unit));
      if (accuracy || valAccuracy) charts.append(chart("accuracy", accuracy, valAccuracy, one.training.unit));
      parts.push(charts.childElementCount ? charts : make("p", {}, "Nothing was trained, or the curves are not stored here: run 'dvc pull' in tables/ if a remote has them."));
      if (one.search.length) parts.push(searchTable(one.search));
      parts.push(make("h3", {}, "Confusion matrix"));
      parts.push(confusionTable(one.confusion));
      parts.push(make("h3", {}, "Origin"), ...one.origins.map((origin) => definitions(Object.entries(origin))));
      const settings = Object.entries(one.settings);
      parts.push(make("details", {}, make("summary", {}, "All settings"), settings.length ? definitions(settings) : make("p", {}, "The record does not have them.")));
    }
    parts.push(make("h3", {}, "Compute it again"), make("p", {}, "In the pipeline, or without DVC:"), ...one.commands.map((c) => make("pre", {}, c)));
    return parts;
  }

  const dialog = document.getElementById("details");
  document.getElementById("close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  document.querySelectorAll("button[data-name]").forEach((button) => button.addEventListener("click", () => {
    const one = data.results[button.dataset.name];
    document.getElementById("details-title").textContent = `${one.title} on ${one.dataset}, ${one.shots}-shot`;
    document.getElementById("details-body").replaceChildren(...result(one));
    dialog.showModal(); // the browser gives the focus back to the button when it closes
  }));

  // ---- two methods ----
  const [first, second, output] = ["first", "second", "comparison"].map((id) => document.getElementById(id));
  const models = Object.entries(data.methods);
  for (const select of [first, second]) select.append(...models.map(([model, title]) => make("option", { value: model }, title)));
  if (models.length > 1) second.selectedIndex = 1;

  function compare() {
    const rows = [];
    for (const column of data.columns) {
      for (const found of column.pairs) {
        const turned = found.pair[0] === second.value && found.pair[1] === first.value;
        if (!turned && !(found.pair[0] === first.value && found.pair[1] === second.value)) continue;
        const sign = turned ? -1 : 1;
        const [low, high] = turned ? found.interval.map((v) => -v).reverse() : found.interval;
        const [wins, losses] = turned ? [found.losses, found.wins] : [found.wins, found.losses];
        const verdict = found.p[1] >= 0.05 ? "not separated" : sign * found.difference > 0 ? "first" : "second";
        rows.push([`${column.dataset}, ${column.shots}-shot`, signed(sign * found.difference), `${signed(low)} to ${signed(high)}`,
          `${pValue(found.p[0])} (${pValue(found.p[1])})`, `${pValue(found.wilcoxon[0])} (${pValue(found.wilcoxon[1])})`,
          `${wins} / ${found.episodes - wins - losses} / ${losses}`, verdict]);
      }
    }
    if (!rows.length) {
      output.replaceChildren(make("p", {}, models.length < 2 ? "There are fewer than two methods with results." : "These two share no dataset and number of shots, or are the same method."));
      return;
    }
    const heads = ["on", "difference", "95 % interval", "p (corrected)", "Wilcoxon p (corrected)", "better / equal / worse episodes", "better"];
    const table = make("table", {}, make("thead", {}, make("tr", {}, ...heads.map((h) => make("th", { scope: "col" }, h)))));
    table.append(make("tbody", {}, ...rows.map(([head, ...cells]) => make("tr", {}, make("th", { scope: "row" }, head), ...cells.map((c) => make("td", {}, c))))));
    const trouble = data.columns.filter((c) => c.trouble).map((c) => make("p", { class: "trouble" }, c.trouble));
    output.replaceChildren(make("div", { class: "scroll" }, table), ...trouble);
  }
  first.addEventListener("change", compare);
  second.addEventListener("change", compare);
  document.getElementById("pair").addEventListener("submit", (event) => event.preventDefault());
  compare();
})();
