// Where ranks, links and messages are drawn. Messages ("chips") keep clear of the ranks' numbers and of one another.
// Pure: a page and node load it.
'use strict';

(function () {
  const kWidth = 360, kHeight = 330, kCentre = {x: kWidth / 2, y: kHeight / 2}, kMargin = 4;
  const kAwayFromCentre = 78;  // chips of one turn of a mesh pass the middle at this distance, or they would meet there
  const kClearance = 2;

  const nodeRadiusOf = worldSize => (worldSize > 5 ? 16 : 21);
  const radiusOf = worldSize => kHeight / 2 - nodeRadiusOf(worldSize) - kMargin;
  const angleOf = (rank, ranks) => 2 * Math.PI * rank / ranks - Math.PI / 2;
  const onCircle = (angle, radius) => ({x: kCentre.x + radius * Math.cos(angle), y: kCentre.y + radius * Math.sin(angle)});

  const parentOf = rank => rank & (rank - 1);  // without its lowest bit
  const childrenOf = (rank, worldSize) => [...Array(worldSize).keys()].filter(each => each > 0 && parentOf(each) === rank);

  // Leaves from left to right, every other rank above the middle of its children.
  function treePlaces(worldSize) {
    const columns = [], depths = [];
    let leaves = 0;
    const place = (rank, depth) => {
      const children = childrenOf(rank, worldSize);
      children.forEach(child => place(child, depth + 1));
      columns[rank] = children.length ? (columns[children[0]] + columns[children.at(-1)]) / 2 : leaves++;
      depths[rank] = depth;
    };
    place(0, 0);
    const inset = nodeRadiusOf(worldSize) + kMargin, deepest = Math.max(...depths), wide = Math.min(kWidth - 2 * inset - 24, (leaves - 1) * 110);
    return columns.map((column, rank) => ({x: kCentre.x + wide * (leaves > 1 ? column / (leaves - 1) - 0.5 : 0),
                                           y: inset + (kHeight - 2 * inset) * depths[rank] / deepest}));
  }

  // [rank]: {x, y}.
  function placesOf(topology, worldSize) {
    const ranks = [...Array(worldSize).keys()], radius = radiusOf(worldSize);
    if (topology === 'tree') return treePlaces(worldSize);
    if (topology === 'star') return ranks.map(rank => (rank === 0 ? kCentre : onCircle(angleOf(rank - 1, worldSize - 1), radius)));
    return ranks.map(rank => onCircle(angleOf(rank, worldSize), radius));
  }

  // The middle of a chord, pushed away from the centre of the circle if it is too near.
  function bowOf(from, to, worldSize) {
    const offset = (to - from + worldSize) % worldSize, half = Math.PI * offset / worldSize, along = radiusOf(worldSize) * Math.cos(half);
    const distance = Math.max(Math.abs(along), kAwayFromCentre) * (along < -1e-9 ? -1 : 1);
    return onCircle(angleOf(from, worldSize) + half, distance);
  }

  // Whole buffers have no name; else a part's number, or "4–7".
  const nameOf = ({first, count}, partCount) => (count === partCount ? '' : count === 1 ? `${first}` : `${first}–${first + count - 1}`);

  function chipOf(message, {worldSize, partCount}) {
    const slot = worldSize > 5 ? 3.2 : 6, name = nameOf(message, partCount), nameWidth = name ? 6.5 * name.length + 6 : 0;
    return {name, slot, nameWidth, width: nameWidth + worldSize * slot + 6, height: worldSize > 5 ? 19 : 22};
  }

  // From clear of one rank to clear of the other: {begin, control, end} of a quadratic curve. Straight, unless messages that
  // travel at the same time would meet.
  function trackOf({topology, worldSize, turns}, {from, to}, chip) {
    const places = placesOf(topology, worldSize), a = places[from], b = places[to], middle = {x: (a.x + b.x) / 2, y: (a.y + b.y) / 2};
    const isBowed = turns[0].messages.length > 1 && (topology === 'mesh' || (topology === 'ring' && worldSize === 2));
    const bow = isBowed ? bowOf(from, to, worldSize) : middle, control = {x: 2 * bow.x - middle.x, y: 2 * bow.y - middle.y};
    const clear = place => {
      const dx = control.x - place.x, dy = control.y - place.y, length = Math.hypot(dx, dy), ux = dx / length, uy = dy / length;
      const distance = nodeRadiusOf(worldSize) + kClearance + (Math.abs(ux) * chip.width + Math.abs(uy) * chip.height) / 2;
      return {x: place.x + ux * distance, y: place.y + uy * distance};
    };
    return {begin: clear(a), control, end: clear(b)};
  }

  function pointAt({begin, control, end}, share) {
    const mix = key => (1 - share) ** 2 * begin[key] + 2 * share * (1 - share) * control[key] + share ** 2 * end[key];
    return {x: mix('x'), y: mix('y')};
  }

  // The chip's box when `share` of its way is behind it.
  function boxAt(schedule, message, share) {
    const chip = chipOf(message, schedule), {x, y} = pointAt(trackOf(schedule, message, chip), share);
    return {...chip, x: x - chip.width / 2, y: y - chip.height / 2};
  }

  const api = {kWidth, kHeight, kCentre, nodeRadiusOf, placesOf, trackOf, chipOf, boxAt};
  if (typeof module === 'object' && module.exports) module.exports = api;
  else (globalThis.Lockstep ??= {}).ringGeometry = api;
})();
