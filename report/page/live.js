// What is under way comes as server-sent events: how far it is, and the figures of the report so
// far, as HTML of ours. In the end comes the report.
const what = document.querySelector("h1"), main = document.querySelector("main");
const replace = (old, figure) => {
  const parts = f => [...f.querySelectorAll("summary, details, input, .scroll")], before = parts(old), after = parts(figure);
  after.forEach((e, i) => before[i] && ([e.open, e.checked] = [before[i].open, before[i].checked]));
  const focused = after[before.indexOf(document.activeElement)];
  old.replaceWith(figure);
  goOn(old, figure);
  if (focused) focused.focus({ preventScroll: true });
};
const show = html => {
  const fresh = document.createElement("template");
  fresh.innerHTML = html;
  const figuresOf = root => [...root.querySelectorAll("figure")], old = figuresOf(main), figures = figuresOf(fresh.content);
  const titles = list => list.map(f => f.querySelector("figcaption").textContent).join("\n");
  if (old.length && titles(old) === titles(figures)) return old.forEach((figure, i) => replace(figure, figures[i]));
  main.replaceChildren(fresh.content);
  lookClosely(main);
};
const source = new EventSource("events");
source.addEventListener("moment", e => {
  const now = JSON.parse(e.data), bar = document.getElementById("done");
  what.textContent = now.what;
  document.getElementById("far").textContent = now.far;
  now.done >= 0 ? bar.value = now.done : bar.removeAttribute("value");
});
source.addEventListener("figures", e => show(JSON.parse(e.data)));
source.addEventListener("end", () => { source.close(); location.replace("report"); });
source.onerror = () => { if (source.readyState === 2) what.textContent = "The command has ended"; };
