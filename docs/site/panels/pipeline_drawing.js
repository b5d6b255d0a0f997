// Draws a schedule as a time table: a line for each rank, a box for each pass, and how many micro-batches a rank holds.
'use strict';

(function () {
  const {svg} = Lockstep.ui;

  const kTop = 30, kGap = 8;

  // timeline: of the model; t: the moment; moments: by rank; choose(t) is called for the time that is clicked.
  function chart({ranks, duration, mostHeld}, t, moments, width, choose) {
    const narrow = width < 500, left = narrow ? 48 : 62, right = narrow ? 34 : 92, high = ranks.length > 4 ? 26 : 36;
    const height = kTop + ranks.length * (high + kGap) + 4, x = time => left + (width - left - right) * time / duration;
    const picture = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label':
        `Time table of ${ranks.length} ranks over ${duration} units; rank 0 holds at most ${mostHeld[0]} micro-batches`});
    picture.append(svg('text', {class: 'soft', x: left, y: 14, 'font-size': 12}, narrow ? 'time' : `time: ${Number(duration.toFixed(2))} units`),
                   svg('text', {class: 'soft', x: width, y: 14, 'font-size': 12, 'text-anchor': 'end'}, 'holds'));
    ranks.forEach((actions, r) => {
      const y = kTop + r * (high + kGap);
      picture.append(svg('text', {x: 0, y: y + high / 2 + 5, 'font-size': 14}, narrow ? `r ${r}` : `rank ${r}`),
                     svg('rect', {class: 'idle', x: left, y, width: x(duration) - left, height: high, rx: 2}));
      for (const {pass, microBatch, begin, end} of actions) {
        const wide = x(end) - x(begin), name = `${microBatch}`;
        picture.append(svg('rect', {class: pass === 'F' ? 'forward' : 'backward', x: x(begin) + 0.5, y, width: Math.max(wide - 1, 0.6), height: high, rx: 2},
                           svg('title', {}, `${pass}${microBatch} on rank ${r}: ${Number(begin.toFixed(2))} to ${Number(end.toFixed(2))}`)));
        if (wide > 8.5 * name.length + 3) {
          picture.append(svg('text', {class: 'on', x: x(begin) + wide / 2, y: y + high / 2 + 4, 'font-size': 12, 'text-anchor': 'middle', style: 'pointer-events: none'}, name));
        }
      }
      picture.append(svg('text', {class: 'held', x: width, y: y + high / 2 + 5, 'font-size': 14, 'text-anchor': 'end'},
                         narrow ? `${moments[r].held.length}/${mostHeld[r]}` : `${moments[r].held.length} (most ${mostHeld[r]})`));
    });
    picture.append(svg('line', {class: 'cursor', x1: x(t), x2: x(t), y1: kTop - 8, y2: height - 4}));
    picture.addEventListener('click', event => {
      const frame = picture.getBoundingClientRect(), at = (event.clientX - frame.left) * width / frame.width;
      choose(Math.max(0, Math.min(duration, duration * (at - left) / (width - left - right))));
    });
    return picture;
  }

  Lockstep.pipelineDrawing = {chart};
})();
