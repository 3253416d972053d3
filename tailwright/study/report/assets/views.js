/* Plots with choices: each box shows one of its views, the one that its select boxes name. */
"use strict";
(() => {
  // Named one by one: what Plotly offers else may send the plot to a server.
  const BUTTONS = [["toImage", "zoom2d", "pan2d", "resetScale2d"]];
  const CONFIG = { responsive: true, displaylogo: false, modeBarButtons: BUTTONS, plotlyServerURL: "" };
  const PAPER_WIDTH = 660; // what an upright sheet has between its margins, in pixels of 1/96 inch
  const NARROW = 560;
  const all = JSON.parse(document.getElementById("views-data").textContent);
  const shown = [];

  for (const box of document.querySelectorAll("[data-views]")) start(box, all[box.dataset.views]);

  function start(box, { dimensions, views }) {
    const controls = box.querySelector(".controls");
    const words = box.querySelector(".said");
    const plot = box.querySelector(".plot");
    const selects = dimensions.map((dimension, place) => {
      const select = document.createElement("select");
      const label = document.createElement("label");
      label.append(dimension, select);
      label.hidden = new Set(views.map((view) => view.at[place])).size < 2;
      select.addEventListener("change", draw);
      controls.append(label);
      return select;
    });
    shown.push(plot);
    draw();

    function draw() {
      let left = views;
      selects.forEach((select, place) => {
        const names = [...new Set(left.map((view) => view.at[place]))];
        const wanted = names.includes(select.value) ? select.value : names[0];
        select.replaceChildren(...names.map((name) => new Option(name, name, false, name === wanted)));
        left = left.filter((view) => view.at[place] === wanted);
      });
      const { words: said, figure } = left[0];
      words.textContent = said;
      plot.setAttribute("aria-label", said);
      const narrow = plot.clientWidth < NARROW;
      Plotly.react(plot, figure.data, narrow ? narrowed(figure.layout) : figure.layout, {
        ...CONFIG,
        displayModeBar: !narrow,
      });
    }
  }

  /* On a narrow screen letters are smaller, and a finger on the plot must scroll the page. */
  function narrowed(layout) {
    return { ...layout, dragmode: false, font: { ...layout.font, size: 11 }, margin: { ...layout.margin, l: 40, r: 8 } };
  }

  addEventListener("beforeprint", () => {
    for (const plot of shown) Plotly.relayout(plot, { width: PAPER_WIDTH });
  });
  addEventListener("afterprint", () => {
    for (const plot of shown) Plotly.relayout(plot, { width: null, autosize: true });
  });
})();
