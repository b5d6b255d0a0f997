// Draws ranks on their hosts: a row for each stage of the pipeline, in it a tile for each place on the data axis, in that the
// tensor ranks; and the lines of each axis between them, as thick as what they carry.
'use strict';

(function () {
  const {svg} = Lockstep.ui;
  const {axes, ranksOf, placeOf, linesOf, hostOf, hostsOf} = Lockstep.gridModel;

  const kTop = 22, kAbove = 24, kBelow = 22, kBetweenStages = 22, kPad = 7;  // above and below a rank, within its host
  const kThinnest = 1.5, kThickest = 10;
  const upTo = n => [...Array(n).keys()];

  // Where each rank's box is. A stage that is too wide continues in another row.
  function layoutOf(shape, width) {
    const {data: D, tensor: T} = shape, isNarrow = width < 560;
    const left = isNarrow ? 62 : 122, gap = T === 1 ? 6 : isNarrow ? 14 : 26, room = width - left - kPad - 1;
    const fitting = Math.max(1, Math.min(D, Math.floor((room + gap) / (T * 34 + gap)))), rows = Math.ceil(D / fitting), tiles = Math.ceil(D / rows);
    const pitch = Math.min(isNarrow ? 62 : 120, (room - gap * (tiles - 1)) / (tiles * T)), box = Math.min(pitch * 0.64, 60), high = Math.min(box, 38);
    const rowHeight = kAbove + high + kBelow, stageHeight = rows * rowHeight + kBetweenStages;
    const cells = upTo(ranksOf(shape)).map(rank => {
      const {pipeline, data, tensor} = placeOf(shape, rank), row = Math.floor(data / tiles), column = data % tiles;
      const x = left + kPad + column * (T * pitch + gap) + tensor * pitch, y = kTop + pipeline * stageHeight + row * rowHeight + kAbove;
      return {x, y, middle: x + box / 2, bottom: y + high, row: pipeline * rows + row};
    });
    return {cells, box, high, pitch, rows, tiles, isNarrow, height: kTop + shape.pipeline * stageHeight - kBetweenStages + 6};
  }

  // The rectangles of a host: one for its ranks in each row, and bridges between rows. Together they are its outline.
  function partsOfHost({cells, box, pitch}, ranks) {
    const rows = [], pad = Math.min(kPad, (pitch - box) / 2 - 1);
    for (const {row, x, y, bottom} of ranks.map(rank => cells[rank])) {
      if (rows.at(-1)?.row !== row) rows.push({row, x: x - pad, y: y - kAbove + 4, bottom: bottom + kBelow - 3});
      rows.at(-1).end = x + box + pad;
    }
    const bridges = rows.slice(1).map((below, i) => {
      const above = rows[i];
      return {x: Math.max(above.x, below.x), end: Math.min(above.end, below.end), y: above.bottom - 6, bottom: below.y + 6};
    }).filter(({x, end}) => end > x);
    const rectangle = rx => ({x, end, y, bottom}) => ({x, y, width: end - x, height: bottom - y, rx});
    return [...rows.map(rectangle(6)), ...bridges.map(rectangle(0))];
  }

  // Outlines of all hosts, and their names, which belong above the lines.
  function hostsAndNames(layout, ranksPerHost) {
    const ranks = upTo(layout.cells.length), hosts = upTo(hostOf(ranks.at(-1), ranksPerHost) + 1);
    const parts = hosts.map(host => partsOfHost(layout, ranks.filter(rank => hostOf(rank, ranksPerHost) === host)));
    const outlines = parts.flatMap(all => ['host-edge', 'host'].flatMap(look => all.map(part => svg('rect', {class: look, ...part}))));
    const names = parts.map(([{x, y, width, height}], host) => svg('text', {class: 'soft host-name', x: x + 6, y: y + height - 6}, `${width > 52 ? 'host ' : 'h'}${host}`));
    return {outlines, names};
  }

  // From one rank of a line to the next: beside each other, above the ranks in between, or down to another stage.
  function pathOf(axis, {cells, box, high, pitch, rows}, from, to) {
    const a = cells[from], b = cells[to], points = list => list.map(value => (typeof value === 'number' ? value.toFixed(1) : value)).join(' ');
    if (axis === 'tensor') return points(['M', a.middle, a.y + high / 2, 'H', b.middle]);
    if (axis === 'data' && a.row === b.row) return points(['M', a.middle, a.y, 'C', a.middle, a.y - 24, b.middle, b.y - 24, b.middle, b.y]);
    if (axis === 'data') return points(['M', a.middle, a.bottom, 'V', b.y - kAbove + 2, 'H', b.middle, 'V', b.y]);
    if (rows === 1) return points(['M', a.middle, a.bottom, 'V', b.y]);
    const aside = a.middle + 0.7 * (pitch - box * 0.5);  // between the ranks of the rows that it passes
    return points(['M', a.middle, a.bottom, 'C', a.middle, a.bottom + 14, aside, a.bottom + 8, aside, a.bottom + 20, 'V', b.y - 20,
                   'C', aside, b.y - 8, b.middle, b.y - 14, b.middle, b.y]);
  }

  // bytes(axis, line): what a rank of the line sends.
  function linesBetween(shape, layout, ranksPerHost, bytes) {
    const lines = axes.flatMap(axis => linesOf(shape, axis).filter(({length}) => length > 1).map(ranks => ({axis, ranks, bytes: bytes(axis, ranks)})));
    const most = Math.max(1, ...lines.map(line => line.bytes));
    return lines.map(line => {
      const {axis, ranks} = line, isTorn = axis === 'tensor' && hostsOf(ranks, ranksPerHost).length > 1;
      const thick = Math.max(kThinnest, kThickest * line.bytes / most).toFixed(1);
      return {axis, ranks, look: `line ${axis}-line${isTorn ? ' torn' : ''}`,
              links: ranks.slice(1).map((to, i) => svg('path', {d: pathOf(axis, layout, ranks[i], to), 'stroke-width': thick}))};
    });
  }

  function boxOf({x, y, middle}, {box, high, pitch}, rank, label) {
    return svg('g', {role: 'radio', 'aria-label': label, 'data-rank': rank},
        svg('rect', {class: 'reach', x: x - (pitch - box) / 2, y: y - 6, width: pitch, height: high + 12}),
        svg('rect', {class: 'box', x, y, width: box, height: high, rx: 6}),
        svg('text', {class: 'number', x: middle, y: y + high / 2 + 5, 'text-anchor': 'middle'}, `${rank}`));
  }

  // One stop for Tab; arrows go to the next rank, and to the same place in the next stage.
  function moveByKeys(boxes, inStage, choose) {
    return event => {
      const at = Number(event.target.dataset?.rank ?? NaN), last = boxes.length - 1;
      const next = {ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + inStage, ArrowUp: at - inStage, Home: 0, End: last, ' ': at}[event.key];
      if (next === undefined || Number.isNaN(at)) return;
      event.preventDefault();
      if (next < 0 || next > last) return;
      choose(next);
      boxes[next].focus();
    };
  }

  function arrow({middle, y, bottom}, isDown) {
    return svg('path', {d: `M ${middle.toFixed(1)} ${(isDown ? y - 1 : bottom + 1).toFixed(1)} l -5 ${isDown ? -8 : 8} h 10 Z`});
  }

  // name: of the grid; labelOf(rank): its place, for those who cannot see it; blocks(stage): its blocks' names, if they are
  // known; choose(rank) is called for a rank that is clicked or reached by a key.
  // Returns the picture, and show(), which changes what is highlighted in place.
  function chart({shape, ranksPerHost, bytes, blocks, name, labelOf, choose}, width) {
    const layout = layoutOf(shape, width), {cells, high, pitch, tiles, isNarrow} = layout, T = shape.tensor, inStage = shape.data * T;
    const {outlines, names} = hostsAndNames(layout, ranksPerHost), lines = linesBetween(shape, layout, ranksPerHost, bytes);
    const boxes = cells.map((cell, rank) => boxOf(cell, layout, rank, labelOf(rank))), arrows = svg('g', {class: 'arrows'});
    const middles = upTo(shape.pipeline).map(stage => cells[stage * inStage].y + high / 2);
    const passes = middles.map(y => svg('text', {class: 'pass', x: isNarrow ? 0 : 68, y: isNarrow ? y + 20 : y}));
    const stages = middles.flatMap((y, stage) => [svg('text', {x: 0, y}, `stage ${stage}`),
                                                  ...(isNarrow || !blocks ? [] : [svg('text', {class: 'soft', x: 0, y: y + 17}, blocks(stage))])]);
    const columns = upTo(tiles).map(place => svg('text', {class: 'soft', x: cells[place * T].x, y: kTop - 2}, `${T * pitch > 50 ? 'data ' : 'd'}${place}`));

    const picture = svg('svg', {viewBox: `0 0 ${width} ${Math.ceil(layout.height)}`, role: 'radiogroup', 'aria-label': name},
        outlines, stages, passes, columns, lines.flatMap(({links}) => links), names, arrows, boxes);
    boxes.forEach((box, rank) => box.addEventListener('click', () => choose(rank)));
    picture.addEventListener('keydown', moveByKeys(boxes, inStage, choose));

    const stageOf = rank => placeOf(shape, rank).pipeline;
    const passOf = (moment, stage) => (moment.kind === 'passes' ? moment.stages[stage] : null);

    // Before the step, the lines of the chosen rank; in a step those that talk, and of the pipeline the borders with a message.
    function stateOf({axis, ranks}, i, {chosen, moment, talks}) {
      if (moment.kind === 'overview') return ranks.includes(chosen) ? 'talks' : 'other';
      if (!talks(axis, ranks)) return 'dim';
      const hasMessage = moment.kind !== 'passes' || axis !== 'pipeline' ||
          moment.messages.some(({from, to}) => Math.min(from, to) === stageOf(ranks[i]));
      return hasMessage ? 'talks' : 'dim';
    }

    function lookOf(rank, chosen, moment) {
      const pass = passOf(moment, stageOf(rank)), shared = lines.find(({ranks}) => ranks.includes(rank) && ranks.includes(chosen));
      const states = [pass && (pass.pass === 'F' ? 'forward' : 'backward'), moment.kind === 'norm' && 'all'];
      return ['rank', rank === chosen ? 'chosen' : shared && `peer-${shared.axis}`, ...states].filter(Boolean).join(' ');
    }

    // state: {chosen: a rank; moment: of the model; talks(axis, line): whether it does at this moment}.
    function show(state) {
      const {chosen, moment} = state;
      for (const line of lines) line.links.forEach((link, i) => link.setAttribute('class', `${line.look} ${stateOf(line, i, state)}`));
      boxes.forEach((box, rank) => {
        box.setAttribute('class', lookOf(rank, chosen, moment));
        box.setAttribute('tabindex', rank === chosen ? 0 : -1);
        box.setAttribute('aria-checked', rank === chosen);
      });
      passes.forEach((text, stage) => {
        const pass = passOf(moment, stage);
        text.textContent = pass ? `${pass.pass}${pass.microBatch}` : '';
      });
      arrows.replaceChildren(...(moment.messages ?? []).flatMap(({from, to}) => cells.filter((_, rank) => stageOf(rank) === to).map(cell => arrow(cell, to > from))));
    }
    return {picture, show};
  }

  Lockstep.gridDrawing = {chart};
})();
