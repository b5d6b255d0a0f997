// Draws the bytes of a step as layers over its events, and the units at one moment.
'use strict';

(function () {
  const {el, svg} = Lockstep.ui;
  const {readableBytes} = Lockstep.numbers;

  // From the bottom up: what moves is on top.
  const parts = [['moments', 'moments of AdamW'], ['values', 'weights that stay'], ['gradients', 'gradients that stay'],
                 ['slots', 'slots for whole gradients of units'], ['whole', 'whole weights of units, gathered for a while']];

  const phaseOf = event => ({gather: event.pass, values: 'update'}[event.kind] ?? event.kind);

  // Neighbouring events of one phase: [{name, first, end}].
  function phasesOf(events) {
    const phases = [];
    events.forEach((event, i) => {
      const name = phaseOf(event);
      if (phases.at(-1)?.name !== name) phases.push({name, first: i, end: i});
      phases.at(-1).end = i + 1;
    });
    return phases;
  }

  function tickStep(most) {
    const rough = most / 4, power = 10 ** Math.floor(Math.log10(rough)), digit = rough / power;
    return power * (digit >= 5 ? 5 : digit >= 2 ? 2 : 1);
  }

  // step: of the model; most: bytes at the top; choose(i) is called for the event that is clicked.
  function chart(step, current, most, width, choose) {
    const {events, peak} = step, narrow = width < 500, left = narrow ? 56 : 66, top = 14, height = narrow ? 250 : 300, bottom = 26;
    const floor = height - bottom, x = i => left + (width - left - 2) * i / events.length, y = bytes => floor - (floor - top) * bytes / most;
    const picture = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label':
        `Bytes on one rank over ${events.length} events of a step; ${readableBytes(peak)} at the peak`});
    for (let tick = 0, each = tickStep(most); tick <= most; tick += each) {
      picture.append(svg('line', {class: 'rule', x1: left, x2: width - 2, y1: y(tick), y2: y(tick)}),
                     svg('text', {class: 'soft', x: left - 6, y: y(tick) + 4, 'text-anchor': 'end', 'font-size': 12}, readableBytes(tick).replace(/\.0+ /, ' ')));
    }
    const below = events.map(() => 0);
    for (const [key] of parts) {
      const upper = [], lower = [];  // the lower edge goes back from right to left
      events.forEach(({bytes}, i) => {
        lower.unshift(`${x(i + 1).toFixed(1)},${y(below[i]).toFixed(1)}`, `${x(i).toFixed(1)},${y(below[i]).toFixed(1)}`);
        below[i] += bytes[key];
        upper.push(`${x(i).toFixed(1)},${y(below[i]).toFixed(1)}`, `${x(i + 1).toFixed(1)},${y(below[i]).toFixed(1)}`);
      });
      if (events.some(({bytes}) => bytes[key] > 0)) picture.append(svg('polygon', {class: `layer part-${key}`, points: [...upper, ...lower].join(' ')}));
    }
    picture.append(svg('line', {class: 'peak', x1: left, x2: width - 2, y1: y(peak), y2: y(peak)}),
                   svg('rect', {class: 'cursor', x: x(current), y: top - 6, width: Math.max(x(current + 1) - x(current), 2.5), height: floor - top + 6}));
    for (const {name, first, end} of phasesOf(events)) {
      const from = x(first), wide = x(end) - from;
      picture.append(svg('rect', {class: `phase-${name}`, x: from, y: floor + 3, width: Math.max(wide - 1, 1), height: 5}));
      if (wide > 7.5 * name.length) picture.append(svg('text', {class: 'soft', x: from, y: floor + 21, 'font-size': 12}, name));
    }
    picture.addEventListener('click', event => {
      const box = picture.getBoundingClientRect(), at = (event.clientX - box.left) * width / box.width;
      choose(Math.max(0, Math.min(events.length - 1, Math.floor((at - left) / (width - left - 2) * events.length))));
    });
    return picture;
  }

  // What rank 0 has of each unit: name, size, state.
  function units(step, event, stage, nameOf) {
    return step.units.map(unit => {
      const isWhole = stage < 3 || unit.name === 'vectors' || event.whole.includes(unit.name), isComing = event.coming === unit.name;
      const state = isComing ? 'on its way' : stage < 3 || unit.name === 'vectors' ? 'whole, stays' : isWhole ? 'whole' : 'own part only';
      const gradients = event.slots.includes(unit.name) ? 'gradients in a slot' : '';
      return el('li', {class: isComing ? 'is-coming' : isWhole ? 'is-whole' : '', 'data-unit': unit.name, 'data-state': state},
          el('strong', {}, nameOf(unit.name)), `${readableBytes(unit.bytes)}, ${state}`, gradients ? [el('br', {}), gradients] : null);
    });
  }

  Lockstep.shardedDrawing = {chart, units, parts};
})();
