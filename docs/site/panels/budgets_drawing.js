// Draws memory as bars beside the cards' sizes, and schedules as rows of passes.
'use strict';

(function () {
  const {svg} = Lockstep.ui;
  const {withDigits} = Lockstep.numbers;
  const parts = [['weights', 'weights'], ['gradients', 'gradients'], ['masterWeights', 'fp32 copy of the weights'], ['optimizer', 'optimizer'],
                 ['activations', 'activations']];

  // Steps of 1, 2 or 5 times a power of ten, about `count` of them.
  function stepFor(end, count) {
    const rough = end / count, power = 10 ** Math.floor(Math.log10(rough));
    return power * (rough / power >= 5 ? 5 : rough / power >= 2 ? 2 : 1);
  }

  // rows: [{name, use}]; cards: [{card, usable}] in GB. Bars, lines of cards and the axis share one scale.
  function memory(rows, cards, width) {
    const narrow = width < 500, left = narrow ? 6 : 158, row = narrow ? 44 : 32, top = 34, right = 52, bar = 24;
    const most = Math.max(...rows.map(({use}) => use.total / 1e9), 30), x = gb => left + (width - left - right) * gb / most;
    const bottom = top + rows.length * row, height = bottom + 22;
    const picture = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label':
        `GB on each GPU: ${rows.map(({name, use}) => `${name} ${withDigits(use.total / 1e9, 1)}`).join('; ')}`});
    const text = (words, attributes) => svg('text', {'font-size': 12, ...attributes}, words);
    const texts = [];  // drawn last, over the lines of the cards
    rows.forEach(({name, use}, i) => {
      const y = top + i * row + (narrow ? 18 : 3);
      texts.push(text(name, {class: 'over', x: narrow ? left : 0, y: narrow ? y - 4 : y + 17}));
      let from = 0;
      for (const [key, label] of parts) {
        const gb = use[key] / 1e9;
        if (gb > 0) {
          picture.append(svg('rect', {class: `bar part-${key}`, 'data-gb': gb, x: x(from), y, width: Math.max(x(from + gb) - x(from) - 0.7, 0.5), height: bar, rx: 1.5},
                             svg('title', {}, `${label}: ${withDigits(gb, 1)} GB`)));
        }
        from += gb;
      }
      texts.push(text(withDigits(from, 1), {class: 'over', x: x(from) + 6, y: y + 17, 'font-size': 13}));
    });
    const step = stepFor(most, narrow ? 3 : 6);
    for (let gb = 0; gb <= most; gb += step) {
      picture.append(svg('line', {class: 'rule', x1: x(gb), x2: x(gb), y1: bottom, y2: bottom + 5}),
                     text(gb + step > most ? `${gb} GB` : String(gb), {class: 'soft', x: x(gb), y: height - 3, 'text-anchor': 'middle'}));
    }
    let last = -Infinity;
    for (const {card, usable} of cards) {
      const at = x(usable);
      if (usable > most * 1.02) continue;
      picture.append(svg('line', {class: 'card-line', 'data-gb': usable, x1: at, x2: at, y1: 32, y2: bottom},
                         svg('title', {}, `${card} GB card: ${withDigits(usable, 1)} GB usable`)));
      if (at - last < (narrow ? 46 : 74)) continue;
      picture.append(text(`${card} GB card`.slice(0, narrow ? -5 : undefined), {class: 'soft', x: at, y: 12, 'text-anchor': 'middle'}),
                     text(`${withDigits(usable, 1)}${narrow ? '' : ' usable'}`, {class: 'soft', x: at, y: 27, 'text-anchor': 'middle'}));
      last = at;
    }
    picture.append(...texts);
    return picture;
  }

  function schedule({worldSize, tasks, duration}, width, label) {
    const left = 56, row = worldSize > 8 ? 14 : 18, each = (width - left) / duration, height = worldSize * row;
    const picture = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label});
    for (let rank = 0; rank < worldSize; ++rank) {
      picture.append(svg('text', {x: 0, y: rank * row + row / 2 + 4, 'font-size': 12}, `rank ${rank}`),
                     svg('rect', {class: 'idle', x: left, y: rank * row + 1, width: width - left, height: row - 3, rx: 2}));
    }
    for (const {rank, microBatch, isForward, begin, end} of tasks) {
      const x = left + begin * each, wide = (end - begin) * each, y = rank * row + 1;
      picture.append(svg('rect', {class: isForward ? 'forward' : 'backward', x, y, width: Math.max(wide - 0.8, 0.5), height: row - 3, rx: 1.5}));
      if (wide > 11) {
        const letter = String.fromCharCode((isForward ? 97 : 65) + microBatch % 26);
        picture.append(svg('text', {class: 'letter', x: x + wide / 2, y: y + row / 2 + 3, 'text-anchor': 'middle'}, letter));
      }
    }
    return picture;
  }

  Lockstep.budgetDrawing = {memory, schedule, parts};
})();
