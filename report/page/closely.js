"use strict";
// overTime draws series over time in a figure, to be looked at closely: the values under the
// pointer, a part of the time by dragging over it (a double click shows all), series hidden by
// their names. plot has the names of the series, whether their values are times (nanoseconds,
// on a logarithmic axis) or rates, and the length of a warm-up, which is shaded. Of a history it has
// labels of commits in place of times, differences in per cent, and the ends of intervals.
function overTime(figure, plot, data) {
  const colour = name => getComputedStyle(holder).getPropertyValue(name).trim();
  const digits = x => Number(x.toPrecision(3)).toString();
  const time = ns => ns >= 1e9 ? digits(ns / 1e9) + " s" : ns >= 1e6 ? digits(ns / 1e6) + " ms" : ns >= 1e3 ? digits(ns / 1e3) + " µs" : digits(ns) + " ns";
  const rate = x => Math.round(x).toLocaleString("en") + "/s";
  const percent = x => (x > 0 ? "+" : "") + digits(x) + "%";
  const format = plot.percent ? percent : plot.times ? time : rate;
  const labels = plot.labels;
  const decades = (low, high) => {
    const list = [];
    for (let p = Math.ceil(Math.log10(low) - 1e-9); p <= Math.log10(high) + 1e-9; p++) list.push(10 ** p);
    return list.length > 1 ? list : [low, high];
  };
  const axis = { stroke: () => colour("--soft"), grid: { stroke: () => colour("--rule"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
  const holder = document.createElement("div");
  holder.className = "closely";
  figure.querySelector("figcaption").after(holder);
  const height = 235;
  const chart = new uPlot({
    width: holder.clientWidth, height,
    scales: { x: { time: false }, y: plot.percent ? {} : plot.times && !labels ? { distr: 3 } : { range: (u, low, high) => [0, (high || 1) * 1.05] } },
    axes: [{ ...axis, size: 32, values: (u, ticks) => ticks.map(t => !labels ? t + " s" : (labels[t] || "").slice(0, 7)) },
      { ...axis, size: 72, values: (u, ticks) => ticks.map(t => t == null ? "" : format(t)),
        ...(plot.times && !labels ? { splits: (u, axis, low, high) => decades(low, high) } : {}) }],
    bands: labels && plot.series.length > 2 ? [{ series: [3, 2], fill: () => colour("--rule") }] : [],
    series: [{ label: labels ? "commit" : "time", value: (u, x) => x == null ? "–" : labels ? labels[x] : x.toFixed(1) + " s" }, ...plot.series.map((s, i) => ({
      label: s.name, stroke: () => colour("--c" + i), width: 1.5, dash: [[], [6, 3], [2, 3], [8, 3, 2, 3]][i % 4],
      value: (u, y) => y == null ? "–" : format(y), points: { show: !!labels && i == 0 } }))],
    hooks: { drawAxes: [u => {
      const end = Math.min(u.valToPos(0, "x", true), u.bbox.left + u.bbox.width);
      if (!(plot.warmup > 0) || end <= u.bbox.left) return;
      u.ctx.fillStyle = colour("--rule");
      u.ctx.fillRect(u.bbox.left, u.bbox.top, end - u.bbox.left, u.bbox.height);
    }] },
  }, data, holder);
  new ResizeObserver(() => chart.setSize({ width: holder.clientWidth, height })).observe(holder);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => chart.redraw());
  return chart;
}

// lookClosely makes pictures over time ones to look at closely.
const lookClosely = within => within.querySelectorAll("figure[data-plot]").forEach(draw);
const rowsOf = plot => [plot.x, ...plot.series.map(s => s.values)];
function draw(figure) {
  const plot = JSON.parse(figure.dataset.plot);
  figure.closely = { plot, chart: overTime(figure, plot, rowsOf(plot)) };
}

// goOn gives a figure that took the place of another the picture of that one, which shows the
// part of the time and the series that were chosen.
function goOn(old, figure) {
  if (!figure.dataset.plot) return;
  const next = JSON.parse(figure.dataset.plot), names = plot => plot.series.map(s => s.name).join("\n");
  if (!old.closely || names(next) !== names(old.closely.plot)) return draw(figure);
  const { plot, chart } = figure.closely = old.closely, x = plot.x, shown = chart.scales.x;
  const all = shown.min === x[0] && shown.max === x[x.length - 1];
  figure.querySelector("figcaption").after(chart.root.parentNode);
  Object.assign(plot, next);
  chart.setData(rowsOf(plot), all);
  if (!all) chart.redraw();
}
