// Draws ranks with the messages between them, cells of chunks, and rows of time.
'use strict';

(function () {
  const {el, svg} = Lockstep.ui;
  const {digitsOf, timesCounted} = Lockstep.ringModel;
  const geometry = Lockstep.ringGeometry;

  const isIn = (sums, rank) => sums.some(sum => timesCounted(sum, rank) > 0);

  // One square for each rank, filled if its values are in one of the message's parts.
  function chip(box, sums, worldSize) {
    const group = svg('g', {class: 'chip', transform: `translate(${box.x.toFixed(2)} ${box.y.toFixed(2)})`},
        svg('rect', {class: 'token', width: box.width, height: box.height, rx: 4}));
    if (box.name) group.append(svg('text', {class: 'token-name', x: 3 + box.nameWidth / 2, y: box.height / 2 + 4, 'text-anchor': 'middle'}, box.name));
    for (let rank = 0; rank < worldSize; ++rank) {
      group.append(svg('rect', {class: isIn(sums, rank) ? `fill r${rank}` : 'slot-off', x: box.nameWidth + 3 + rank * box.slot + 0.4, y: 3.5,
                                width: box.slot - 0.8, height: box.height - 7, rx: 1}));
    }
    return group;
  }

  // Where messages travel in the whole collective; each way once.
  function ways(schedule, messages) {
    const drawn = new Map(), noChip = {width: 0, height: 0};
    for (const message of messages) {
      const {begin, control, end} = geometry.trackOf(schedule, message, noChip);
      const key = [message.from, message.to].sort().concat(control.x.toFixed(0), control.y.toFixed(0)).join();
      const at = ({x, y}) => `${x.toFixed(1)} ${y.toFixed(1)}`;
      drawn.set(key, svg('path', {class: 'rule', 'stroke-width': 1.5, d: `M${at(begin)} Q${at(control)} ${at(end)}`}));
    }
    return [...drawn.values()];
  }

  // underWay: [{message, share}], `share` of whose way is behind them. words: two short lines for the middle of a ring.
  function network(schedule, underWay, label, words = []) {
    const {kWidth, kHeight, kCentre} = geometry, {worldSize} = schedule, radius = geometry.nodeRadiusOf(worldSize);
    const all = schedule.turns.flatMap(({messages}) => messages);
    return svg('svg', {viewBox: `0 0 ${kWidth} ${kHeight}`, role: 'img', 'aria-label': label}, ways(schedule, all),
        geometry.placesOf(schedule.topology, worldSize).map(({x, y}, rank) => [
            svg('circle', {class: `node fill r${rank}`, cx: x.toFixed(2), cy: y.toFixed(2), r: radius}),
            svg('text', {class: 'on', x: x.toFixed(2), y: (y + 5).toFixed(2), 'text-anchor': 'middle'}, `${rank}`)]).flat(),
        words.map((text, i) => svg('text', {class: i === 0 ? 'phase' : 'soft', x: kCentre.x, y: kCentre.y + 5 + (i - (words.length - 1) / 2) * 19,
                                            'text-anchor': 'middle'}, text)),
        underWay.map(({message, share}) => chip(geometry.boxAt(schedule, message, share), message.sums, worldSize)));
  }

  function cell(sum, {isNew, isComplete, worldSize}) {
    const digits = digitsOf(sum, worldSize), names = [...digits].filter(digit => digit !== '.').join(', ') || 'nothing';
    return el('span', {class: `cell${isComplete ? ' complete' : ''}${isNew ? ' new' : ''}`, 'data-digits': digits},
        [...digits].map((digit, rank) => el('i', {class: digit === '.' ? '' : `in r${rank}`, 'aria-hidden': true})),
        el('span', {class: 'hidden-text'}, `${names}${isComplete ? ', complete' : ''}${isNew ? ', new' : ''}`));
  }

  // sums and isNew are [rank][part]; goals [part] what is complete; sent what each rank has sent so far, in words.
  function holdings(table, {sums, isNew, goals, sent, head}) {
    const worldSize = sums.length;
    table.style.setProperty('--slot', `${Math.max(4, Math.min(14, Math.floor(40 / worldSize)))}px`);
    table.style.setProperty('--narrow-slot', `${Math.max(2, Math.min(10, Math.floor(22 / worldSize)))}px`);
    table.classList.toggle('many', worldSize > 5);
    const part = index => el('th', {scope: 'col'}, head ?? [el('span', {class: 'wide'}, 'chunk '), `${index}`]);
    table.replaceChildren(
        el('caption', {class: 'hidden-text'}, 'Which ranks\u2019 values each rank holds in each chunk'),
        el('thead', {}, el('tr', {}, el('td', {}), goals.map((_, index) => part(index)), sent ? el('th', {scope: 'col', class: 'sent'}, 'sent') : null)),
        el('tbody', {}, sums.map((row, rank) => el('tr', {}, el('th', {scope: 'row'}, el('span', {class: 'wide'}, 'rank '), `${rank}`),
            row.map((sum, index) => el('td', {}, cell(sum, {isNew: isNew[rank][index], isComplete: sum === goals[index], worldSize}))),
            sent ? el('td', {class: 'sent'}, sent[rank]) : null))));
  }

  // A row for each rank: its call as a band, and a bar for each chunk that arrives; a line marks the moment.
  function timeline(replay, time, width) {
    const left = 58, row = 34, top = 8, {worldSize, spans, end, events} = replay;
    const x = seconds => left + (width - left - 8) * seconds / end, height = top + worldSize * row + 8;
    const picture = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img',
        'aria-label': `When each of ${worldSize} ranks was in the call, and when its chunks arrived`});
    for (let rank = 0; rank < worldSize; ++rank) {
      const y = top + rank * row;
      picture.append(svg('text', {x: 0, y: y + 20}, `rank ${rank}`));
      const {begin, end: over} = spans[rank];
      picture.append(svg('rect', {x: x(begin), y: y + 2, width: Math.max(x(over) - x(begin), 1), height: row - 8, rx: 3,
                                  style: 'fill: var(--sunken); stroke: var(--rule)'}));
      for (const event of events.filter(each => each.to === rank)) {
        picture.append(svg('rect', {class: `fill r${event.chunk}`, x: x(event.begin), y: y + 7,
            width: Math.max(x(event.end) - x(event.begin) - 0.5, 1), height: row - 18, rx: 2, opacity: 0.85},
            svg('title', {}, `chunk ${event.chunk}, step ${event.step + 1}, from rank ${event.from}`)));
      }
    }
    picture.append(svg('line', {x1: x(time), x2: x(time), y1: 0, y2: height, stroke: 'var(--ink)', 'stroke-width': 1.5}));
    return picture;
  }

  Lockstep.ringDrawing = {network, holdings, timeline};
})();
