"use strict";
// A click on a box of a flame graph enlarges it, as the page does with one when it is loaded; one on the topmost shows all again.
for (const graph of document.querySelectorAll("svg.flame")) {
  const boxes = [...graph.querySelectorAll("svg")].map(at => ({ at, text: at.querySelector("text"), from: parseFloat(at.getAttribute("x")), wide: parseFloat(at.getAttribute("width")) }));
  const enlarge = chosen => {
    if (!chosen) return;
    const place = x => Math.min(100, Math.max(0, (x - chosen.from) * 100 / chosen.wide));
    for (const b of boxes) {
      const from = place(b.from), wide = place(b.from + b.wide) - from;
      b.at.setAttribute("x", from + "%");
      b.at.setAttribute("width", wide + "%");
      b.at.style.display = wide > 0.01 ? "" : "none";
      if (!b.text && wide > 1.2) {
        b.text = b.at.appendChild(document.createElementNS(graph.namespaceURI, "text"));
        b.text.setAttribute("x", 3);
        b.text.setAttribute("y", 11);
        b.text.textContent = b.at.querySelector("title").textContent.split(": ")[0];
      }
    }
  };
  graph.addEventListener("click", event => enlarge(boxes.find(b => b.at.contains(event.target))));
  enlarge(boxes.find(b => b.at.dataset.open !== undefined));
}
