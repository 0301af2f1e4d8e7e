const width = 1200, letter = 7;
const boxes = [...document.querySelectorAll('g')].map(g => {
  const rect = g.querySelector('rect');
  return {g, rect, text: g.querySelector('text'), name: [...g.querySelector('title').textContent.split('\n')[0]],
    x: +rect.getAttribute('x'), w: +rect.getAttribute('width')};
});
document.documentElement.addEventListener('click', event => {
  const g = event.target.closest('g'), to = boxes.find(b => b.g === g) || boxes[0];
  for (const b of boxes) {
    const at = x => Math.min(width, Math.max(0, (x - to.x) * width / to.w));
    const x = at(b.x), w = at(b.x + b.w) - x, room = Math.trunc((w - 4) / letter);
    b.g.style.display = w > 0.1 ? '' : 'none';
    b.rect.setAttribute('x', x);
    b.rect.setAttribute('width', w);
    b.text.setAttribute('x', x + 2);
    b.text.textContent = b.name.length <= room ? b.name.join('') : room < 3 ? '' : b.name.slice(0, room - 1).join('') + '…';
  }
});
