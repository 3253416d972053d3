/* Tables that sort by a click on a column's header, and show the rows that their select boxes ask for.
   The select boxes are for the first columns, in their order. */
"use strict";
(() => {
  for (const box of document.querySelectorAll("[data-table]")) {
    const table = box.querySelector("table");
    const filters = [...box.querySelectorAll("select[data-filter]")];
    const headers = [...table.tHead.rows[0].cells];
    headers.forEach((header, column) => {
      header.querySelector("button").addEventListener("click", () => sort(table, headers, column));
    });
    for (const filter of filters) filter.addEventListener("change", () => choose(table, filters));
    choose(table, filters);
  }

  /* Numbers start with the largest, words with the first; a second click turns the order around. */
  function sort(table, headers, column) {
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => ({ row, value: row.cells[column].dataset.value }));
    const numeric = rows.every(({ value }) => value === "" || Number.isFinite(Number(value)));
    const before = headers[column].getAttribute("aria-sort");
    const first = numeric ? "descending" : "ascending";
    const other = numeric ? "ascending" : "descending";
    const now = before === first ? other : first;
    for (const header of headers) header.removeAttribute("aria-sort");
    headers[column].setAttribute("aria-sort", now);
    const sign = now === "ascending" ? 1 : -1;
    rows.sort((a, b) => {
      if (a.value === "" || b.value === "") return (a.value === "") - (b.value === "");
      return sign * (numeric ? a.value - b.value : a.value.localeCompare(b.value));
    });
    body.append(...rows.map(({ row }) => row));
  }

  function choose(table, filters) {
    for (const row of table.tBodies[0].rows) {
      row.hidden = filters.some(({ dataset, value }) => value !== "" && row.dataset[dataset.filter] !== value);
    }
    // A column that is the same all over tells nothing, and takes room that a phone does not have.
    for (const [column, { value }] of filters.entries()) {
      for (const row of table.rows) row.cells[column].hidden = value !== "";
    }
  }
})();
