// Draws the sectors that a request touches, and the banks that it reads.
'use strict';

(function () {
  const {svg} = Lockstep.ui;

  // Each touched sector is a box; what lanes use of it is filled, with the lane's number where there is room.
  function sectors({units}, addresses, elementBytes, width) {
    const columns = width < 500 ? 4 : 8, gap = 8, each = (width - gap * (columns - 1)) / columns, row = 46;
    const height = Math.ceil(units.length / columns) * row, place = new Map(units.map((unit, i) => [unit, i]));
    const at = i => ({x: (i % columns) * (each + gap), y: Math.floor(i / columns) * row});
    const picture = svg('svg', {viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${units.length} sectors are touched`});
    units.forEach((unit, i) => {
      const {x, y} = at(i);
      picture.append(svg('text', {class: 'soft', x, y: y + 11, 'font-size': 11}, `byte ${unit * 32}`),
                     svg('rect', {class: 'sector', x: x + 0.5, y: y + 15.5, width: each - 1, height: 23, rx: 3}));
    });
    const drawn = new Map();
    addresses.forEach((begin, lane) => {
      for (let byte = begin; byte < begin + elementBytes;) {
        const unit = Math.floor(byte / 32), end = Math.min(begin + elementBytes, (unit + 1) * 32), {x, y} = at(place.get(unit));
        const from = x + 1 + (each - 2) * (byte - unit * 32) / 32, wide = (each - 2) * (end - byte) / 32;
        if (!drawn.has(byte)) {
          picture.append(svg('rect', {class: 'byte-used', x: from + 0.4, y: y + 16.5, width: Math.max(wide - 0.8, 0.6), height: 21, rx: 1.5}));
          const label = addresses.filter(each => each === begin).length > 1 ? 'all' : String(lane);
          const size = Math.min(9.5, wide / (0.7 * Math.max(2, label.length)));  // of the letters: all numbers have one
          if (size > 8) picture.append(svg('text', {class: 'lane', style: `font-size: ${size.toFixed(1)}px`, x: from + wide / 2, y: y + 30.5, 'text-anchor': 'middle'}, label));
          drawn.set(byte, true);
        }
        byte = end;
      }
    });
    return picture;
  }

  // A column for each bank, as high as it has different words to give; a row of columns for each part of the warp.
  function banks({groups}, width) {
    const left = width < 500 ? 0 : 104, each = (width - left) / 32, deepest = Math.max(...groups.map(group => group.passes));
    const unit = Math.max(3, Math.min(16, 130 / deepest)), row = deepest * unit + 40;
    const picture = svg('svg', {viewBox: `0 0 ${width} ${groups.length * row}`, role: 'img', 'aria-label':
        groups.map(({first, last, passes}) => `lanes ${first} to ${last - 1}: ${passes} ${passes === 1 ? 'pass' : 'passes'}`).join('; ')});
    groups.forEach(({first, last, banks: all, passes}, i) => {
      const top = i * row, base = top + row - 16, words = `lanes ${first}–${last - 1}: ${passes} ${passes === 1 ? 'pass' : 'passes'}`;
      if (left) {
        picture.append(svg('text', {x: 0, y: base - 16, 'font-size': 12}, `lanes ${first}–${last - 1}`), svg('text', {class: 'soft', x: 0, y: base, 'font-size': 12}, `${passes} ${passes === 1 ? 'pass' : 'passes'}`));
      } else {
        picture.append(svg('text', {x: 0, y: top + 13, 'font-size': 12}, words));
      }
      all.forEach((bank, number) => {
        const x = left + number * each;
        picture.append(svg('rect', {class: 'bank-base', x: x + 0.8, y: base - 3, width: each - 1.6, height: 3}));
        bank.forEach((word, k) => picture.append(svg('rect', {class: `bank-word${k > 0 ? ' extra' : ''}`, x: x + 0.8, y: base - 4 - (k + 1) * unit, width: each - 1.6,
            height: Math.max(unit - 1, 2), rx: 1}, svg('title', {}, `bank ${number}: word ${word}`))));
        if (number % 4 === 0) picture.append(svg('text', {class: 'soft', x: x + each / 2, y: base + 12, 'text-anchor': 'middle', 'font-size': 10}, String(number)));
      });
    });
    return picture;
  }

  Lockstep.warpDrawing = {sectors, banks};
})();
