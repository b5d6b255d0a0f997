// Draws ranks on a circle with the messages between them, cells of chunks, and rows of time.
'use strict';

(function () {
  const {el, svg} = Lockstep.ui;
  const model = Lockstep.ringModel;

  function placesOf(worldSize, centre, radius) {
    return [...Array(worldSize).keys()].map(rank => {
      const angle = 2 * Math.PI * rank / worldSize - Math.PI / 2;
      return {x: centre + radius * Math.cos(angle), y: centre + radius * Math.sin(angle)};
    });
  }

  // A star has rank 0 in the middle.
  function starPlaces(worldSize, centre, radius) {
    const around = placesOf(worldSize - 1, centre, radius);
    return [{x: centre, y: centre}, ...around];
  }

  // From one node's edge to the other's, a little to the right of the line between them, so that two directions do not
  // cover each other.
  function trackOf(from, to, nodeRadius, aside) {
    const dx = to.x - from.x, dy = to.y - from.y, length = Math.hypot(dx, dy) || 1;
    const ux = dx / length, uy = dy / length;
    const at = distance => ({x: from.x + ux * distance - uy * aside, y: from.y + uy * distance + ux * aside});
    return {begin: at(nodeRadius), end: at(length - nodeRadius)};
  }

  // One square for each rank, filled where its values are in `sum`.
  function slots(group, sum, worldSize, x, y, width, height) {
    const each = width / worldSize;
    for (let rank = 0; rank < worldSize; ++rank) {
      const isIn = model.timesCounted(sum, rank) > 0;
      group.append(svg('rect', {class: isIn ? `fill r${rank}` : 'slot-off', x: x + rank * each + 0.6, y,
                                width: Math.max(each - 1.2, 1), height, rx: 1}));
    }
  }

  function token(event, track, share, worldSize, size) {
    const x = track.begin.x + (track.end.x - track.begin.x) * share;
    const y = track.begin.y + (track.end.y - track.begin.y) * share;
    const width = Math.max(worldSize * size.slot, 16) + 6, name = event.chunk === undefined ? null : `${event.chunk}`;
    const left = name === null ? 0 : 13, whole = width + left;
    const group = svg('g', {transform: `translate(${x - whole / 2} ${y - size.height / 2})`});
    group.append(svg('rect', {class: 'token', width: whole, height: size.height, rx: 4}));
    if (name !== null) group.append(svg('text', {class: 'token-name', x: 8, y: size.height / 2 + 4, 'text-anchor': 'middle'}, name));
    slots(group, event.sum, worldSize, left + 3, 3.5, width - 6, size.height - 7);
    return group;
  }

  // kind: 'ring', 'star' or 'mesh'. Messages under way at `time` are drawn where they are.
  function network(kind, worldSize, events, time, label, phase = []) {
    const isLarge = kind === 'ring', box = isLarge ? 360 : 210, centre = box / 2;
    const nodeRadius = isLarge ? (worldSize > 5 ? 17 : 23) : worldSize > 5 ? 12 : 14, radius = box / 2 - nodeRadius - (isLarge ? 12 : 8);
    const places = kind === 'star' ? starPlaces(worldSize, centre, radius) : placesOf(worldSize, centre, radius);
    const picture = svg('svg', {viewBox: `0 0 ${box} ${box}`, role: 'img', 'aria-label': label});
    const aside = isLarge ? (worldSize === 2 ? 18 : 0) : kind === 'star' ? 4 : 3;
    const tracks = new Map();
    for (const {from, to} of events) {
      const key = `${from}>${to}`;
      if (tracks.has(key)) continue;
      const track = trackOf(places[from], places[to], nodeRadius + (isLarge ? 16 : 2), aside);
      tracks.set(key, track);
      picture.append(svg('line', {class: 'rule', 'stroke-width': isLarge ? 2 : 1, x1: track.begin.x, y1: track.begin.y,
                                  x2: track.end.x, y2: track.end.y}));
    }
    places.forEach(({x, y}, rank) => picture.append(
        svg('circle', {class: `node fill r${rank}`, cx: x, cy: y, r: nodeRadius}),
        svg('text', {class: 'on', x, y: y + 5, 'text-anchor': 'middle', 'font-size': isLarge ? 16 : 12}, `${rank}`)));
    phase.forEach((text, i) => picture.append(svg('text', {class: i === 0 ? 'phase' : 'soft', x: centre,
        y: centre + 5 + (i - (phase.length - 1) / 2) * 19, 'text-anchor': 'middle'}, text)));
    const size = isLarge ? {slot: worldSize > 5 ? 3.6 : 7, height: 22} : {slot: 3, height: 15};
    for (const event of events) {
      if (!(event.begin <= time && time < event.end)) continue;
      const share = (time - event.begin) / (event.end - event.begin);
      picture.append(token(event, tracks.get(`${event.from}>${event.to}`), share, worldSize, size));
    }
    return picture;
  }

  function cell(sum, isNew, worldSize) {
    const digits = model.digitsOf(sum, worldSize), isComplete = !digits.includes('.');
    const names = [...digits].filter(digit => digit !== '.').join(', ');
    return el('span', {class: `cell${isComplete ? ' complete' : ''}${isNew ? ' new' : ''}`, 'data-digits': digits},
        [...digits].map((digit, rank) => el('i', {class: digit === '.' ? '' : `in r${rank}`, 'aria-hidden': true})),
        el('span', {class: 'hidden-text'}, `${isComplete ? 'complete' : names}${isNew ? ', new' : ''}`));
  }

  function holdings(table, {table: sums, isNew}) {
    const worldSize = sums.length;
    table.style.setProperty('--slot', `${Math.max(5, Math.min(14, Math.floor(60 / worldSize)))}px`);
    table.style.setProperty('--narrow-slot', `${Math.max(3, Math.min(10, Math.floor(24 / worldSize)))}px`);
    const chunk = index => el('th', {scope: 'col'}, el('span', {class: 'wide'}, 'chunk '), `${index}`);
    table.replaceChildren(
        el('caption', {class: 'hidden-text'}, 'Which ranks\u2019 values each rank holds in each chunk'),
        el('thead', {}, el('tr', {}, el('td', {}), sums.map((_, index) => chunk(index)))),
        el('tbody', {}, sums.map((row, rank) => el('tr', {}, el('th', {scope: 'row'}, el('span', {class: 'wide'}, 'rank '), `${rank}`),
            row.map((sum, index) => el('td', {}, cell(sum, isNew[rank][index], worldSize)))))));
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
