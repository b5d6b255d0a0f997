// Draws memory as bars beside the cards' sizes, and schedules as rows of passes.
'use strict';

(function () {
  const {svg} = Lockstep.ui;
  const {withDigits} = Lockstep.numbers;
  const kUsableShare = 0.9;
  const parts = [['weights', 'weights'], ['gradients', 'gradients'], ['masterWeights', 'fp32 copy of the weights'], ['optimizer', 'optimizer'],
                 ['activations', 'activations']];

  // rows: [{name, use}]; cards in GB.
  function memory(rows, cardsGb, width) {
    const narrow = width < 500, left = narrow ? 6 : 178, row = narrow ? 52 : 38, top = 26, right = 58;
    const most = Math.max(...rows.map(({use}) => use.total / 1e9), 30), x = gb => left + (width - left - right) * gb / most;
    const height = top + rows.length * row + 6;
    const picture = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label':
        `GB on each GPU: ${rows.map(({name, use}) => `${name} ${withDigits(use.total / 1e9, 1)}`).join('; ')}`});
    const texts = [];  // drawn last, over the lines of the cards
    rows.forEach(({name, use}, i) => {
      const y = top + i * row + (narrow ? 18 : 4);
      texts.push(svg('text', {class: 'over', x: narrow ? left : 0, y: narrow ? y - 4 : y + 19}, name));
      let from = 0;
      for (const [key, label] of parts) {
        const gb = use[key] / 1e9;
        if (gb > 0) {
          picture.append(svg('rect', {class: `part-${key}`, x: x(from), y, width: Math.max(x(from + gb) - x(from) - 0.7, 0.5), height: 28, rx: 1.5},
                             svg('title', {}, `${label}: ${withDigits(gb, 1)} GB`)));
        }
        from += gb;
      }
      texts.push(svg('text', {class: 'over', x: x(from) + 6, y: y + 19, 'font-size': 13}, withDigits(from, 1)));
    });
    let last = -Infinity;
    for (const card of cardsGb) {
      const at = x(card * kUsableShare);
      if (at > width - right + 30) continue;
      picture.append(svg('line', {class: 'card-line', x1: at, x2: at, y1: 20, y2: height}));
      if (at - last > 42) picture.append(svg('text', {class: 'soft', x: at, y: 13, 'text-anchor': 'middle', 'font-size': 12}, `${card} GB`));
      last = at;
    }
    picture.append(...texts);
    return picture;
  }

  function schedule({worldSize, tasks, duration}, width, label) {
    const left = 56, row = worldSize > 8 ? 17 : 24, each = (width - left) / duration, height = worldSize * row;
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
