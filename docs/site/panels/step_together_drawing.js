// Draws the model's numbers as bars, the batch as squares, and the losses as lines.
'use strict';

(function () {
  const {el, svg} = Lockstep.ui;

  // 22 bars around a zero line. marks: where each should end, or null.
  function bars(values, {most, className, label, marks = null}) {
    const width = 220, height = 74, middle = height / 2, each = width / values.length;
    const y = value => middle - Math.max(-1, Math.min(1, value / most)) * (middle - 4);
    const picture = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': label});
    picture.append(svg('line', {class: 'edge', x1: 0, x2: width, y1: middle, y2: middle}));
    values.forEach((value, i) => {
      picture.append(svg('rect', {class: className, x: i * each + 1.2, width: each - 2.4, y: Math.min(y(value), middle),
                                  height: Math.max(Math.abs(y(value) - middle), 0.4), rx: 1}));
      if (marks) picture.append(svg('line', {class: 'rule-mark', x1: i * each, x2: (i + 1) * each, y1: y(marks[i]), y2: y(marks[i])}));
    });
    return picture;
  }

  function batch(job) {
    const {begin} = job.sliceOf(0);
    return el('div', {}, el('h3', {}, `The next batch: samples ${begin} to ${begin + job.batch - 1}`),
        el('ul', {class: 'samples'}, job.replicas.map((_, rank) => el('li', {}, `rank ${rank}`,
            el('span', {class: `strip r${rank}`, 'aria-label': `${job.batchPerRank} samples`, role: 'img'},
               [...Array(job.batchPerRank)].map(() => el('i', {})))))));
  }

  const kRaised = '\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079';
  // Two digits that matter: "0.25", "1.2 × 10⁻⁹".
  function magnitudeOf(number) {
    if (!Number.isFinite(number)) return 'more than a number can hold';
    if (number >= 0.001 && number < 1e6) return String(Number(number.toPrecision(2)));
    const [mantissa, exponent] = number.toExponential(1).split('e');
    return `${mantissa} × 10${[...exponent].map(each => (each === '-' ? '\u207b' : each === '+' ? '' : kRaised[each])).join('')}`;
  }

  const rounded = value => (Number.isFinite(value) ? value.toFixed(3).replace('-', '\u2212') : '\u2013');

  function replica(job, rank, {mostGradient, mostWeight, rule, digits, shownGradient, shownWeights, isMean}) {
    const {gradient, loss} = job.replicas[rank], drift = job.driftOf(rank);
    const isShared = job.phase === 'reduced', hasGradient = job.phase !== 'ready';
    const steepest = hasGradient ? digits(Math.max(...gradient.map(Math.abs))) : '';
    const drawn = hasGradient ? shownGradient : shownWeights.map(() => 0);
    const said = !hasGradient ? 'no gradient yet' : `${isShared ? 'mean gradient of all ranks' : 'own gradient'}, up to ${steepest}`;
    const apart = drift === 0 ? el('p', {class: 'same'}, rank === 0 ? 'the replica that others are compared with' : 'weights equal rank 0\u2019s, bit for bit') :
        el('p', {class: 'apart'}, `weights differ from rank 0\u2019s by up to ${magnitudeOf(drift)}`);
    return el('section', {class: `card replica r${rank}`, 'aria-label': `Rank ${rank}`},
        el('h3', {}, `Rank ${rank}`, el('small', {'data-loss': loss ?? ''}, loss === null ? '' : `loss ${digits(loss)}`)),
        el('p', {}, said),
        el('p', {class: 'numbers', 'aria-hidden': 'true'}, drawn.slice(0, 3).map(value => el('span', {}, hasGradient ? rounded(value) : '\u2013'))),
        bars(drawn, {most: mostGradient, className: isShared && isMean ? 'shared' : `fill r${rank}`, label: `Rank ${rank}: ${said}`}),
        el('p', {}, 'weights'),
        bars(shownWeights, {most: mostWeight, className: `fill r${rank}`, marks: rule, label: `Rank ${rank}: weights`}), apart);
  }

  // Two weights of each rank as a ring in a plane, with the way that they have come. Equal replicas are rings in one place.
  function plane(trails, rule, width) {
    const height = 250, kFirst = 1, kSecond = 4, kEdge = 26;
    const isShown = weights => weights.every(value => Math.abs(value) < 4);  // not what has left for infinity
    const all = [rule, ...trails.flat().filter(isShown)];
    const range = i => [Math.min(...all.map(weights => weights[i])), Math.max(...all.map(weights => weights[i]))];
    const [left, right] = range(kFirst), [low, high] = range(kSecond);
    const scale = Math.min((width - 2 * kEdge) / (right - left), (height - 2 * kEdge) / (high - low));
    const x = weights => width / 2 + (weights[kFirst] - (left + right) / 2) * scale;
    const y = weights => height / 2 - (weights[kSecond] - (low + high) / 2) * scale;
    const at = weights => (isShown(weights) ? `${x(weights).toFixed(1)},${y(weights).toFixed(1)}` : null);
    const ends = trails.map(trail => at(trail.at(-1))), places = new Set(ends).size;
    const picture = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img',
                                'aria-label': places === 1 ? 'All ranks are in one place' : `The ranks are in ${places} places`});
    picture.append(svg('rect', {class: 'frame', x: 0.5, y: 0.5, width: width - 1, height: height - 1, rx: 6}),
                   svg('path', {class: 'goal', d: `M${x(rule) - 6} ${y(rule)}h12M${x(rule)} ${y(rule) - 6}v12`}),
                   svg('text', {class: 'soft', x: x(rule) + (x(rule) > width / 2 ? -10 : 10), y: y(rule) + 18,
                                'text-anchor': x(rule) > width / 2 ? 'end' : 'start'}, 'where training should end'));
    trails.forEach((trail, rank) => {
      const way = trail.map(at).filter(Boolean);
      picture.append(svg('polyline', {class: `stroke way r${rank}`, points: way.join(' ')}));
      if (way.length > 0) picture.append(svg('circle', {class: `stroke ring r${rank}`, cx: way.at(-1).split(',')[0], cy: way.at(-1).split(',')[1], r: 4 + 2 * rank}));
    });
    return picture;
  }

  // Losses on a logarithmic axis; the thick line is the mean over ranks.
  function losses(job, digits, width) {
    const height = 250, left = 52, bottom = 30, steps = Math.max(job.losses.length, 10);
    const all = job.losses.flatMap(({ranks, mean}) => [...ranks, mean]).filter(loss => loss > 0 && Number.isFinite(loss));
    const high = Math.ceil(Math.log10(Math.max(...all, 10))), low = Math.min(Math.floor(Math.log10(Math.min(...all, 0.1))), high - 2);
    const x = step => left + (width - left - 10) * (step - 1) / (steps - 1);
    const y = loss => 8 + (height - bottom - 8) * (high - Math.log10(Math.max(loss, 10 ** low))) / (high - low);
    const said = job.losses.length === 0 ? 'no step yet' : `step ${job.losses.length}: ${digits(job.losses.at(-1).mean)}`;
    const picture = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `Loss of each step, ${said}`});
    for (let power = low; power <= high; ++power) {
      picture.append(svg('line', {class: 'rule', x1: left, x2: width - 10, y1: y(10 ** power), y2: y(10 ** power)}),
                     svg('text', {class: 'soft', x: left - 8, y: y(10 ** power) + 4, 'text-anchor': 'end'}, String(Number((10 ** power).toPrecision(1)))));
    }
    const every = Math.max(1, Math.ceil(steps / 10));
    for (let step = every; step <= steps; step += every) {
      picture.append(svg('text', {class: 'soft', x: x(step), y: height - 8, 'text-anchor': 'middle'}, String(step)));
    }
    const line = (pick, className) => picture.append(svg('polyline', {class: className,
        points: job.losses.map((entry, i) => `${x(i + 1).toFixed(1)},${y(pick(entry)).toFixed(1)}`).join(' ')}));
    job.replicas.forEach((_, rank) => line(({ranks}) => ranks[rank], `stroke loss-line r${rank}`));
    line(({mean}) => mean, 'loss-mean');
    if (job.losses.length > 0) {
      const last = job.losses.length;
      picture.append(svg('circle', {cx: x(last), cy: y(job.losses.at(-1).mean), r: 4, style: 'fill: var(--ink)'}));
    }
    return picture;
  }

  Lockstep.stepDrawing = {bars, batch, replica, losses, plane, magnitudeOf};
})();
