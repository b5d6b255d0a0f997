// Draws one step of training as rows of time, and the curve of exposed time over bucket size.
'use strict';

(function () {
  const {svg} = Lockstep.ui;
  const {shortNumber, readableTime} = Lockstep.numbers;

  // Ticks of 1, 2 or 5 times a power of ten.
  function ticksUpTo(end, count) {
    const rough = end / count, power = 10 ** Math.floor(Math.log10(rough));
    const step = power * (rough / power >= 5 ? 5 : rough / power >= 2 ? 2 : 1), ticks = [];
    for (let i = 1; i * step <= end; ++i) ticks.push(i * step);
    return ticks;
  }

  const plain = text => text.replace(/\.0+ /, ' ');

  function axis(picture, x, end, height, unit) {
    const count = x(end) - x(0) < 500 ? 3 : 6;
    for (const tick of ticksUpTo(end, count)) {
      picture.append(svg('line', {class: 'rule', x1: x(tick), x2: x(tick), y1: 20, y2: height}),
                     svg('text', {class: 'soft', x: x(tick), y: 13, 'text-anchor': 'middle', 'font-size': 12}, plain(unit(tick))));
    }
  }

  function bar(picture, {x0, x1, y, height, className, text, title}) {
    const width = Math.max(x1 - x0, 0.8);
    picture.append(svg('rect', {class: className, x: x0, y, width: Math.max(width - 0.6, 0.8), height, rx: 2}, title ? svg('title', {}, title) : null));
    if (text && width > 7.2 * text.length + 4) {
      picture.append(svg('text', {class: 'on', x: x0 + width / 2, y: y + height / 2 + 4, 'text-anchor': 'middle', 'font-size': 12, style: 'pointer-events: none'}, text));
    }
  }

  // The model's step.
  function step(line, width) {
    const left = width < 500 ? 8 : 116, end = Math.max(line.end, line.withoutOverlap) * 1.01;
    const row = 36, narrow = width < 500, head = narrow ? 18 : 0, tops = [30, 30 + row + head + 14, 30 + 2 * (row + head + 14)];
    const height = tops[2] + head + row + 8, x = seconds => left + (width - left - 4) * seconds / end;
    const picture = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label':
        `One step: forward, backward, and ${line.buckets.length} buckets, of which ${readableTime(line.exposed)} stay exposed`});
    axis(picture, x, end, height, tick => readableTime(tick));
    ['compute', 'communicate', 'without overlap'].forEach((name, i) =>
        picture.append(svg('text', {x: narrow ? left : 0, y: tops[i] + (narrow ? 12 : row / 2 + 4)}, name)));
    const at = i => tops[i] + head;
    bar(picture, {x0: x(0), x1: x(line.forwardSeconds), y: at(0), height: row, className: 'forward', text: 'forward'});
    line.parts.forEach((part, i) => bar(picture, {x0: x(part.begin), x1: x(part.end), y: at(0), height: row,
        className: `compute${i % 2 ? ' odd' : ''}`, text: part.name, title: `backward of ${part.name}: ${readableTime(part.end - part.begin)}`}));
    if (line.exposed > 0) {
      picture.append(svg('rect', {class: 'exposed', x: x(line.backwardEnd), y: at(0) - 4, width: Math.max(x(line.end) - x(line.backwardEnd), 1),
                                  height: at(1) + row + 8 - at(0)}));
    }
    line.buckets.forEach((bucket, i) => {
      picture.append(svg('polyline', {class: 'ready', points: `${x(bucket.readyAt)},${at(0) + row} ${x(bucket.readyAt)},${at(1) - 5} ${x(bucket.begin)},${at(1)}`}));
      bar(picture, {x0: x(bucket.begin), x1: x(bucket.end), y: at(1), height: row, className: `bucket${i % 2 ? ' odd' : ''}`, text: String(i),
                    title: `bucket ${i}: ${shortNumber(bucket.bytes / 1e6)} MB, ready at ${readableTime(bucket.readyAt)}, sent from ${readableTime(bucket.begin)} to ${readableTime(bucket.end)}`});
    });
    bar(picture, {x0: x(0), x1: x(line.forwardSeconds), y: at(2), height: row, className: 'forward', text: 'forward'});
    bar(picture, {x0: x(line.forwardSeconds), x1: x(line.backwardEnd), y: at(2), height: row, className: 'compute', text: 'backward'});
    bar(picture, {x0: x(line.backwardEnd), x1: x(line.withoutOverlap), y: at(2), height: row, className: 'bucket', text: 'all gradients'});
    return picture;
  }

  // points: [{bytes, exposed}], one of them the present choice.
  function sweep(points, now, width) {
    const height = 210, left = 62, bottom = 34, most = Math.max(...points.map(({exposed}) => exposed), now.exposed) * 1.08 || 1;
    const low = Math.log(points[0].bytes), high = Math.log(points.at(-1).bytes);
    const x = bytes => left + (width - left - 14) * (Math.log(bytes) - low) / (high - low);
    const y = seconds => 10 + (height - bottom - 10) * (1 - seconds / most);
    const best = points.reduce((a, b) => (b.exposed < a.exposed ? b : a));
    const picture = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label':
        `Exposed communication over bucket size: least, ${readableTime(best.exposed)}, at ${shortNumber(best.bytes / 2 ** 20)} MiB`});
    for (const tick of ticksUpTo(most, 4)) {
      picture.append(svg('line', {class: 'rule', x1: left, x2: width - 14, y1: y(tick), y2: y(tick)}),
                     svg('text', {class: 'soft', x: left - 7, y: y(tick) + 4, 'text-anchor': 'end', 'font-size': 12}, plain(readableTime(tick))));
    }
    for (const mib of [0.1, 1, 10, 100, 1000]) {
      picture.append(svg('text', {class: 'soft', x: x(mib * 2 ** 20), y: height - 12, 'text-anchor': mib === 1000 ? 'end' : 'middle', 'font-size': 12}, mib === 0.1 ? '0.1 MiB' : String(mib)));
    }
    picture.append(svg('polyline', {class: 'curve', points: points.map(({bytes, exposed}) => `${x(bytes).toFixed(1)},${y(exposed).toFixed(1)}`).join(' ')}),
                   svg('circle', {class: 'now', cx: x(now.bytes), cy: y(now.exposed), r: 6}));
    return picture;
  }

  const kClassOf = {forward: 'forward', backward: 'compute', optimizer: 'update', data: 'other', communication: 'other', wait: 'other', other: 'other'};

  // A real step: two rows for each rank.
  function realStep({rows, end}, width) {
    const narrow = width < 500, left = narrow ? 8 : 72, height = 30 + rows.length * (narrow ? 76 : 62);
    const x = ms => left + (width - left - 4) * ms / end;
    const picture = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `One step of ${rows.length} ranks as it was`});
    axis(picture, x, end, height, tick => `${shortNumber(tick)} ms`);
    rows.forEach((row, i) => {
      const top = 30 + i * (narrow ? 76 : 62) + (narrow ? 14 : 0);
      picture.append(svg('text', {x: narrow ? left : 0, y: narrow ? top - 3 : top + 17}, `rank ${row.rank}`));
      for (const span of row.spans.filter(({lane}) => lane === 'compute')) {
        bar(picture, {x0: x(span.begin), x1: x(span.end), y: top, height: 25, className: kClassOf[span.category], text: span.name, title: `${span.name}: ${readableTime((span.end - span.begin) / 1e3)}`});
      }
      for (const span of row.spans.filter(({lane}) => lane === 'communication')) {
        const index = row.buckets.indexOf(span);
        bar(picture, {x0: x(span.begin), x1: x(span.end), y: top + 27, height: 23, className: index < 0 ? 'other' : `bucket${index % 2 ? ' odd' : ''}`,
                      text: index < 0 ? '' : String(index), title: `${span.name}: ${readableTime((span.end - span.begin) / 1e3)}`});
      }
    });
    return picture;
  }

  Lockstep.overlapDrawing = {step, sweep, realStep};
})();
