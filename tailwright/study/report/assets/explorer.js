/* The predictions explorer: test rows found by words, and what each chosen cell says of them. */
"use strict";
(() => {
  const PAGE = 5;
  const STEP = 5; // labels kept of a cell for each row
  const box = document.getElementById("explorer");
  if (!box) return;
  const data = JSON.parse(document.getElementById("explorer-data").textContent);
  const [which, search, changed] = ["dataset", "search", "changed"].map((name) => box.querySelector(`[name=${name}]`));
  const [cells, status, list, more] = ["cells", "status", "list", "more"].map((name) => box.querySelector(`.${name}`));
  let set, chosen, found, limit;

  which.append(...data.map(({ name }, place) => new Option(name, place)));
  which.parentElement.hidden = data.length < 2;
  which.addEventListener("change", open);
  search.addEventListener("input", look);
  changed.addEventListener("change", look);
  more.addEventListener("click", () => {
    limit += PAGE;
    show();
  });
  open();

  function open() {
    set = data[which.value];
    set.folded ??= set.rows.map(({ id, text, truth }) =>
      [id ?? "", text, ...truth.map((label) => set.labels[label][0])].join(" ").toLowerCase());
    chosen = new Set(set.shown);
    cells.querySelector("ul").replaceChildren(...set.cells.map(({ name }, place) => {
      const tick = element("input");
      tick.type = "checkbox";
      tick.checked = chosen.has(place);
      tick.addEventListener("change", () => {
        if (tick.checked) chosen.add(place);
        else chosen.delete(place);
        look();
      });
      const label = element("label", "", tick, name);
      return element("li", "", label);
    }));
    look();
  }

  function look() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    found = set.rows.map((_, row) => row).filter((row) =>
      words.every((word) => set.folded[row].includes(word)) && (!changed.checked || differs(row)));
    limit = PAGE;
    show();
  }

  /* Whether the chosen cells disagree about which labels are right for a row. */
  function differs(row) {
    const right = [...chosen].map((cell) => top(cell, row).filter((label) => isRight(row, label)).sort().join());
    return new Set(right).size > 1;
  }

  function top(cell, row) {
    return set.cells[cell].top.slice(row * STEP, (row + 1) * STEP).filter((label) => label >= 0);
  }

  function isRight(row, label) {
    return set.rows[row].truth.includes(label);
  }

  function show() {
    const visible = found.slice(0, limit);
    const of = set.all > set.rows.length ? `a sample of ${set.rows.length.toLocaleString("en")} test rows` :
      `${set.rows.length.toLocaleString("en")} test rows`;
    status.textContent = `${found.length.toLocaleString("en")} of ${of} match; ${visible.length} shown.`;
    list.replaceChildren(...visible.map(card));
    more.hidden = visible.length >= found.length;
  }

  function card(row) {
    const { id, text, truth } = set.rows[row];
    const places = [...chosen].sort((a, b) => a - b);
    const sides = places.map((cell) => element("div", "",
      element("h4", "", set.cells[cell].name),
      element("ol", "", ...top(cell, row).map((label) =>
        element("li", isRight(row, label) ? "right" : "", ...named(label))))));
    const right = truth.flatMap((label, place) => [place ? "; " : "", ...named(label)]);
    return element("article", "example",
      element("h3", "", id ? `${id}: ${text}` : text),
      element("p", "truth", "Right: ", ...(right.length ? right : ["no label"])),
      element("div", "sides", ...sides));
  }

  function named(label) {
    const [name, rows] = set.labels[label];
    return [`${name} `, element("span", "count", rows.toLocaleString("en"))];
  }

  /* Text always goes in as text: nothing that comes from data is ever read as HTML. */
  function element(tag, kind = "", ...inside) {
    const made = document.createElement(tag);
    if (kind) made.className = kind;
    made.append(...inside);
    return made;
  }
})();
