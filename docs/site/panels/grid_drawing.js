// Draws ranks on their hosts: a row for each stage of the pipeline, in it a tile for each place on the data axis, in that the
// tensor ranks; and the lines of each axis between them, as thick as what they carry.
'use strict';

(function () {
  const {svg} = Lockstep.ui;
  const {axes, ranksOf, placeOf, linesOf, hostOf, hostsOf} = Lockstep.gridModel;

  const kTop = 22, kAbove = 24, kBelow = 22, kBetweenStages = 22, kPad = 7;
  const kThinnest = 1.5, kThickest = 10;

  // Where each rank's box is. A stage that is too wide continues in another row.
  function layoutOf(shape, width) {
    const {data: D, tensor: T} = shape, isNarrow = width < 560, left = isNarrow ? 62 : 122, gap = T === 1 ? 6 : isNarrow ? 14 : 26, room = width - left - kPad - 1;
    const most = Math.max(1, Math.min(D, Math.floor((room + gap) / (T * 34 + gap)))), rows = Math.ceil(D / most), tiles = Math.ceil(D / rows);
    const pitch = Math.min(isNarrow ? 62 : 120, (room - gap * (tiles - 1)) / (tiles * T)), box = Math.min(pitch * 0.64, 60), high = Math.min(box, 38);
    const each = kAbove + high + kBelow;
    const cells = [...Array(ranksOf(shape)).keys()].map(rank => {
      const place = placeOf(shape, rank), row = Math.floor(place.data / tiles), column = place.data % tiles;
      return {row: place.pipeline * rows + row, x: left + kPad + column * (T * pitch + gap) + place.tensor * pitch,
              y: kTop + place.pipeline * (rows * each + kBetweenStages) + row * each + kAbove};
    });
    return {cells, box, high, pitch, rows, tiles, left, isNarrow, height: kTop + shape.pipeline * (rows * each + kBetweenStages) - kBetweenStages + 6};
  }

  // The rectangles of a host: one for the ranks of each row, and bridges between rows. Together they are its outline.
  function hostShapes({cells, box, high}, host, ranksPerHost) {
    const own = cells.map((cell, rank) => ({...cell, rank})).filter(({rank}) => hostOf(rank, ranksPerHost) === host), rows = [];
    for (const cell of own) {
      if (rows.at(-1)?.row !== cell.row) rows.push({row: cell.row, x: cell.x - kPad, y: cell.y - kAbove + 4, end: 0, bottom: cell.y + high + kBelow - 3});
      rows.at(-1).end = cell.x + box + kPad;
    }
    const bridges = rows.slice(1).map((below, i) => ({x: Math.max(below.x, rows[i].x), end: Math.min(below.end, rows[i].end), y: rows[i].bottom - 6, bottom: below.y + 6}));
    return [...rows.map(row => ({...row, rx: 6})), ...bridges.filter(({x, end}) => end > x)]
        .map(({x, end, y, bottom, rx = 0}) => ({x, y, width: end - x, height: bottom - y, rx}));
  }

  // From one rank of a line to the next. Lines of the data axis pass above the ranks in between.
  function pathOf(axis, {cells, box, high, pitch, rows}, from, to) {
    const a = cells[from], b = cells[to], middle = cell => cell.x + box / 2, round = value => value.toFixed(1);
    if (axis === 'tensor') return `M ${round(middle(a))} ${round(a.y + high / 2)} H ${round(middle(b))}`;
    if (axis === 'data' && a.row === b.row) return `M ${round(middle(a))} ${round(a.y)} C ${round(middle(a))} ${round(a.y - 24)} ${round(middle(b))} ${round(b.y - 24)} ${round(middle(b))} ${round(b.y)}`;
    if (axis === 'data') return `M ${round(middle(a))} ${round(a.y + high)} V ${round(b.y - kAbove + 2)} H ${round(middle(b))} V ${round(b.y)}`;
    if (rows === 1) return `M ${round(middle(a))} ${round(a.y + high)} V ${round(b.y)}`;
    const aside = middle(a) + (pitch - box * 0.5) * 0.7;  // between the ranks of the rows that it passes
    return `M ${round(middle(a))} ${round(a.y + high)} C ${round(middle(a))} ${round(a.y + high + 14)} ${round(aside)} ${round(a.y + high + 8)} ${round(aside)} ${round(a.y + high + 20)} ` +
        `V ${round(b.y - 20)} C ${round(aside)} ${round(b.y - 8)} ${round(middle(b))} ${round(b.y - 14)} ${round(middle(b))} ${round(b.y)}`;
  }

  const arrow = (x, y, isDown) => `M ${x} ${y} l -5 ${isDown ? -8 : 8} h 10 Z`;

  // bytes(axis, line): what a rank of the line sends; blocks(stage): their names; torn: ranks of tensor lines on several hosts;
  // choose(rank) is called for a rank that is clicked or reached by its key. show(state) changes what is highlighted.
  function chart({shape, ranksPerHost, bytes, blocks, name, labelOf, choose}, width) {
    const layout = layoutOf(shape, width), {cells, box, high, pitch, tiles, left, isNarrow, height} = layout, T = shape.tensor;
    const picture = svg('svg', {viewBox: `0 0 ${width} ${Math.ceil(height)}`, role: 'radiogroup', 'aria-label': name});

    const names = [];  // above the lines
    for (let host = 0; host <= hostOf(cells.length - 1, ranksPerHost); ++host) {
      const parts = hostShapes(layout, host, ranksPerHost), rect = (look, part) => svg('rect', {class: look, ...part});
      picture.append(...parts.map(part => rect('host-edge', part)), ...parts.map(part => rect('host', part)));
      const first = parts[0], wide = first.width > 52;
      names.push(svg('text', {class: 'soft host-name', x: first.x + 6, y: first.y + first.height - 6, 'font-size': 12}, `${wide ? 'host ' : 'h'}${host}`));
    }

    const heads = [...Array(shape.pipeline).keys()].map(stage => {
      const {y} = cells[stage * shape.data * T], pass = svg('text', {class: 'pass', x: isNarrow ? 0 : 68, y: isNarrow ? y + high / 2 + 20 : y + high / 2, 'font-size': 14});
      picture.append(svg('text', {x: 0, y: y + high / 2, 'font-size': 14}, `stage ${stage}`), pass);
      if (!isNarrow && blocks) picture.append(svg('text', {class: 'soft', x: 0, y: y + high / 2 + 17, 'font-size': 12}, blocks(stage)));
      return pass;
    });
    for (let place = 0; place < shape.data; ++place) {
      const {x, y} = cells[place * T], wide = T * pitch > 50;
      if (place < tiles) picture.append(svg('text', {class: 'soft', x, y: y - kAbove - 2, 'font-size': 12}, wide ? `data ${place}` : place === 0 && isNarrow ? '' : `d${place}`));
    }

    const lines = axes.flatMap(axis => linesOf(shape, axis).filter(line => line.length > 1).map(ranks => ({axis, ranks})));
    const most = Math.max(1, ...lines.map(({axis, ranks}) => bytes(axis, ranks)));
    for (const line of lines) {
      const {axis, ranks} = line, thick = Math.max(kThinnest, kThickest * bytes(axis, ranks) / most);
      const isTorn = axis === 'tensor' && hostsOf(ranks, ranksPerHost).length > 1;
      line.links = ranks.slice(1).map((to, i) => svg('path', {d: pathOf(axis, layout, ranks[i], to), 'stroke-width': thick.toFixed(1)}));
      line.look = `line ${axis}-line${isTorn ? ' torn' : ''}`;
      picture.append(...line.links);
    }
    const arrows = svg('g', {class: 'arrows'});
    picture.append(...names, arrows);

    const boxes = cells.map(({x, y}, rank) => {
      const group = svg('g', {role: 'radio', 'aria-label': labelOf(rank), 'data-rank': rank},
          svg('rect', {class: 'reach', x: x - (pitch - box) / 2, y: y - 6, width: pitch, height: high + 12}),
          svg('rect', {class: 'box', x, y, width: box, height: high, rx: 6}),
          svg('text', {class: 'number', x: x + box / 2, y: y + high / 2 + 5, 'font-size': 14, 'text-anchor': 'middle'}, `${rank}`));
      group.addEventListener('click', () => choose(rank));
      return group;
    });
    picture.append(...boxes);

    picture.addEventListener('keydown', event => {
      const at = Number(event.target.dataset?.rank ?? NaN), row = shape.data * T, last = cells.length - 1;
      const next = {ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + row, ArrowUp: at - row, Home: 0, End: last, ' ': at}[event.key];
      if (next === undefined || Number.isNaN(at)) return;
      event.preventDefault();
      if (next < 0 || next > last) return;
      choose(next);
      boxes[next].focus();
    });

    // chosen: a rank; moment: of the model; talks(axis, line): whether it does at this moment.
    function show({chosen, moment, talks}) {
      for (const {axis, ranks, look, links} of lines) {
        const isOwn = ranks.includes(chosen), isOn = moment.kind === 'overview' ? isOwn : talks(axis, ranks);
        const carries = (a, b) => moment.kind !== 'passes' || axis !== 'pipeline' ||
            moment.messages.some(({from, to}) => Math.min(from, to) === placeOf(shape, a).pipeline && Math.max(from, to) === placeOf(shape, b).pipeline);
        links.forEach((link, i) => link.setAttribute('class', `${look} ${isOn && carries(ranks[i], ranks[i + 1]) ? 'talks' : moment.kind === 'overview' ? 'other' : 'dim'}`));
      }
      boxes.forEach((group, rank) => {
        const pass = moment.kind === 'passes' ? moment.stages[placeOf(shape, rank).pipeline] : null;
        const peer = rank === chosen ? null : lines.find(({ranks}) => ranks.includes(rank) && ranks.includes(chosen));
        group.setAttribute('class', ['rank', rank === chosen ? 'chosen' : '', peer ? `peer-${peer.axis}` : '', pass ? (pass.pass === 'F' ? 'forward' : 'backward') : '',
                                     moment.kind === 'norm' ? 'all' : ''].filter(Boolean).join(' '));
        group.setAttribute('tabindex', rank === chosen ? 0 : -1);
        group.setAttribute('aria-checked', rank === chosen);
      });
      heads.forEach((text, stage) => {
        const pass = moment.kind === 'passes' ? moment.stages[stage] : null;
        text.textContent = pass ? `${pass.pass}${pass.microBatch}` : '';
      });
      arrows.replaceChildren(...(moment.messages ?? []).flatMap(({from, to}) => cells.flatMap((cell, rank) =>
          (placeOf(shape, rank).pipeline === to ? [svg('path', {d: arrow((cell.x + box / 2).toFixed(1), (to > from ? cell.y - 1 : cell.y + high + 1).toFixed(1), to > from)})] : []))));
    }
    return {picture, show};
  }

  Lockstep.gridDrawing = {chart};
})();
