// Draws a block on several ranks: a line a rank, a column an event, and in each what the rank works on.
'use strict';

(function () {
  const {svg} = Lockstep.ui;

  const kLeft = 62, kTop = 26, kGap = 3;
  const shortNames = {'all-reduce': 'sum', 'all-gather': 'gather', 'reduce-scatter': 'scatter'};

  // What rank r of t works on: everything, its rows, or its columns.
  function box(holds, r, t, x, y, width, height) {
    const own = {whole: [x, y, width, height], rows: [x, y + height * r / t, width, height / t],
                 columns: [x + width * r / t, y, width / t, height]}[holds];
    const rect = (name, [left, top, wide, high]) => svg('rect', {class: name, x: left, y: top, width: wide, height: high});
    const mine = rect(holds === 'whole' ? 'mine same' : 'mine', own);
    mine.setAttribute('style', `--c: var(--r${r % 8})`);
    return [rect('all', [x, y, width, height]), mine];
  }

  // events, index of the current one; choose(i) is called for the event that is clicked.
  function chart(events, current, t, width, choose) {
    const each = (width - kLeft) / events.length, high = t > 4 ? 30 : t > 2 ? 44 : 60, height = kTop + t * (high + 8) + 24;
    const x = i => kLeft + i * each, bottom = height - 24;
    const picture = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label':
        `A block on ${t} ranks: ${events.length} events, of which ${events.filter(({is}) => is === 'collective').length} are collectives`});
    for (let r = 0; r < t; ++r) {
      picture.append(svg('text', {x: 0, y: kTop + r * (high + 8) + high / 2 + 5, 'font-size': 14}, `rank ${r}`));
    }
    events.forEach((event, i) => {
      if (i === 0 || event.pass !== events[i - 1].pass) picture.append(svg('text', {class: 'soft', x: x(i), y: 14, 'font-size': 13}, event.pass));
      if (event.is === 'collective') {
        picture.append(svg('rect', {class: 'collective', x: x(i) + kGap, y: kTop, width: each - 2 * kGap, height: bottom - kTop - 8, rx: 4}));
        const middle = [x(i) + each / 2 + 4, (kTop + bottom) / 2];
        picture.append(svg('text', {class: 'on-collective', x: middle[0], y: middle[1], 'font-size': 12, 'text-anchor': 'middle',
                                    transform: `rotate(-90 ${middle[0]} ${middle[1]})`}, shortNames[event.kind]));
      } else {
        for (let r = 0; r < t; ++r) picture.append(...box(event.holds, r, t, x(i) + kGap, kTop + r * (high + 8), each - 2 * kGap, high));
      }
      if (i <= current) picture.append(svg('rect', {class: 'done', x: x(i) + 1, y: bottom, width: each - 2, height: 4}));
    });
    picture.append(svg('rect', {class: 'cursor', x: x(current) + 0.5, y: kTop - 5, width: each - 1, height: bottom - kTop + 12, rx: 5}));
    picture.addEventListener('click', event => {
      const frame = picture.getBoundingClientRect(), at = (event.clientX - frame.left) * width / frame.width;
      choose(Math.max(0, Math.min(events.length - 1, Math.floor((at - kLeft) / each))));
    });
    return picture;
  }

  Lockstep.tensorBlockDrawing = {chart};
})();
