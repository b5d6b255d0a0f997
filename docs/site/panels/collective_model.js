// Collectives on a ring, a tree, a star and a mesh, as steps of messages. The star is that of
// chapters/01_mini_all_reduce/star_process_group.cpp, the ring that of chapters/02_ring_all_reduce/ring_collectives.cpp and
// ring_schedule.hpp, the costs are those of chapters/00_why_many_gpus/cost_model.cpp. Pure: a page and node load it.
//
//   part     one of P equal parts of the buffer. A barrier has no buffer: its one part says who has arrived.
//   message  {from, to, first, count, adds}: parts first, first + 1, ...; the receiver adds them to its own, or takes them.
//   step     messages that leave together, holding what their senders had when the step began.
//   turn     messages of one step that share no port: those that do pass it one after another.
'use strict';

(function () {
  const kRoot = 0;
  const collectives = [['all_reduce', 'All-reduce'], ['reduce_scatter', 'Reduce-scatter'], ['all_gather', 'All-gather'], ['broadcast', 'Broadcast'],
                       ['reduce', 'Reduce'], ['scatter', 'Scatter'], ['gather', 'Gather'], ['barrier', 'Barrier']];
  const topologies = [['ring', 'Ring'], ['tree', 'Tree'], ['star', 'Star'], ['mesh', 'Mesh']];
  const wrap = (value, worldSize) => ((value % worldSize) + worldSize) % worldSize;
  const ranksOf = worldSize => [...Array(worldSize).keys()];

  // --- Steps ---

  // The parts of a message from one rank to another: the whole buffer, the sender's part, or the receiver's.
  const whole = worldSize => ({first: 0, count: worldSize});
  const oneOf = rank => ({first: rank, count: 1});

  // Step by step, every rank passes one part to the next: chunkOf(rank, step).
  const round = (phase, worldSize, adds, chunkOf) => ranksOf(worldSize - 1).map(step => ({phase, messages: ranksOf(worldSize).map(rank =>
      ({from: rank, to: wrap(rank + 1, worldSize), ...oneOf(wrap(chunkOf(rank, step), worldSize)), adds}))}));

  // From rank `start` along the ring to the rank before it, one part behind the other.
  const chain = (worldSize, start, adds) => ranksOf(2 * (worldSize - 1)).map(step => ({phase: 'Chain', messages: ranksOf(worldSize - 1)
      .filter(hop => step >= hop && step - hop < worldSize)
      .map(hop => ({from: wrap(start + hop, worldSize), to: wrap(start + hop + 1, worldSize), ...oneOf(step - hop), adds}))}));

  // All messages at once. partsFor(from, to) is null if there is none. The nearest rank to the right is served first.
  function direct(phase, worldSize, adds, partsFor) {
    const messages = [];
    for (let offset = 1; offset < worldSize; ++offset) {
      for (let from = 0; from < worldSize; ++from) {
        const to = wrap(from + offset, worldSize), parts = partsFor(from, to);
        if (parts) messages.push({from, to, ...parts, adds});
      }
    }
    return {phase, messages};
  }

  const toRoot = (worldSize, adds, partsFrom, phase = 'Directly') => [direct(phase, worldSize, adds, (from, to) => (to === kRoot ? partsFrom(from) : null))];
  const fromRoot = (worldSize, partsFor, phase = 'Directly') => [direct(phase, worldSize, false, (from, to) => (from === kRoot ? partsFor(to) : null))];

  // Level by level, a rank whose number is an odd multiple of `distance` meets the one `distance` below it. Going up, that
  // is one message from each such rank; going down, the same backwards. Below a rank are the parts of its own subtree.
  function levels(worldSize, {isUp, isWhole, adds}) {
    const steps = [];
    for (let distance = 1; distance < worldSize; distance *= 2) {
      const messages = [];
      for (let child = distance; child < worldSize; child += 2 * distance) {
        const parts = isWhole ? whole(worldSize) : {first: child, count: Math.min(distance, worldSize - child)}, parent = child - distance;
        messages.push({from: isUp ? child : parent, to: isUp ? parent : child, ...parts, adds});
      }
      steps.push({phase: isUp ? 'Up the tree' : 'Down the tree', messages});
    }
    return isUp ? steps : steps.reverse();
  }

  const onRing = {
    all_reduce: P => [...round('Reduce-scatter', P, true, (rank, step) => rank - step), ...round('All-gather', P, false, (rank, step) => rank + 1 - step)],
    reduce_scatter: P => round('Reduce-scatter', P, true, (rank, step) => rank - 1 - step),
    all_gather: P => round('All-gather', P, false, (rank, step) => rank - step),
    broadcast: P => chain(P, kRoot, false),
    reduce: P => chain(P, kRoot + 1, true),
    scatter: P => fromRoot(P, oneOf),
    gather: P => toRoot(P, false, oneOf),
    barrier: P => onStar.barrier(P),
  };

  const reduceUp = P => levels(P, {isUp: true, isWhole: true, adds: true}), gatherUp = P => levels(P, {isUp: true, isWhole: false, adds: false});
  const broadcastDown = P => levels(P, {isUp: false, isWhole: true, adds: false}), scatterDown = P => levels(P, {isUp: false, isWhole: false, adds: false});
  const onTree = {
    all_reduce: P => [...reduceUp(P), ...broadcastDown(P)],
    reduce_scatter: P => [...reduceUp(P), ...scatterDown(P)],
    all_gather: P => [...gatherUp(P), ...broadcastDown(P)],
    broadcast: broadcastDown, reduce: reduceUp, scatter: scatterDown, gather: gatherUp,
    barrier: P => onTree.all_reduce(P),
  };

  const inward = (P, adds, parts) => toRoot(P, adds, parts, 'To the centre'), outward = (P, parts) => fromRoot(P, parts, 'From the centre');
  const onStar = {
    all_reduce: P => [...inward(P, true, () => whole(P)), ...outward(P, () => whole(P))],
    reduce_scatter: P => [...inward(P, true, () => whole(P)), ...outward(P, oneOf)],
    all_gather: P => [...inward(P, false, oneOf), ...outward(P, () => whole(P))],
    broadcast: P => outward(P, () => whole(P)),
    reduce: P => inward(P, true, () => whole(P)),
    scatter: P => outward(P, oneOf),
    gather: P => inward(P, false, oneOf),
    barrier: P => onStar.all_reduce(P),
  };

  const onMesh = {
    all_reduce: P => [direct('Exchange', P, true, () => whole(P))],
    reduce_scatter: P => [direct('Exchange', P, true, (from, to) => oneOf(to))],
    all_gather: P => [direct('Exchange', P, false, from => oneOf(from))],
    broadcast: P => fromRoot(P, () => whole(P)),
    reduce: P => toRoot(P, true, () => whole(P)),
    scatter: P => fromRoot(P, oneOf),
    gather: P => toRoot(P, false, oneOf),
    barrier: P => onMesh.all_reduce(P),
  };
  const stepsOn = {ring: onRing, tree: onTree, star: onStar, mesh: onMesh};

  // --- Whose values are where ---

  // Rank r contributes 8^r: digit r of a sum in base 8 says how often rank r was counted.
  const contributionOf = rank => 8 ** rank;
  const everybody = worldSize => ranksOf(worldSize).reduce((sum, rank) => sum + contributionOf(rank), 0);
  const isGathered = collective => collective === 'gather' || collective === 'all_gather';
  const isDealt = collective => collective === 'broadcast' || collective === 'scatter';

  function startOf(collective, rank, part) {
    if (isDealt(collective)) return rank === kRoot ? contributionOf(kRoot) : 0;
    if (isGathered(collective)) return rank === part ? contributionOf(rank) : 0;
    return contributionOf(rank);
  }

  // The sum of a part at the end, on the ranks that get it.
  function goalOf(collective, part, worldSize) {
    if (isDealt(collective)) return contributionOf(kRoot);
    return isGathered(collective) ? contributionOf(part) : everybody(worldSize);
  }

  function isResult(collective, rank, part) {
    if (collective === 'reduce' || collective === 'gather') return rank === kRoot;
    return collective === 'reduce_scatter' || collective === 'scatter' ? rank === part : true;
  }

  // Messages by turns: each in the first turn in which its sender does not send and its receiver does not receive.
  function turnsOf(messages) {
    const turns = [];
    for (const message of messages) {
      let turn = 0;
      while (turns[turn]?.some(({from, to}) => from === message.from || to === message.to)) ++turn;
      (turns[turn] ??= []).push(message);
    }
    return turns;
  }

  // {partCount, steps: [{phase, inPhase, ofPhase, messages, turns}], start, turns: [{step, turn, messages, after}]}. Tables
  // are [rank][part] sums; every message has `sums`, one for each of its parts.
  function scheduleOf(collective, topology, worldSize) {
    const isEmpty = collective === 'barrier', partCount = isEmpty ? 1 : worldSize;
    const steps = stepsOn[topology][collective](worldSize);
    const start = ranksOf(worldSize).map(rank => ranksOf(partCount).map(part => startOf(collective, rank, part)));
    let table = start;
    const turns = [];
    for (const [index, step] of steps.entries()) {
      const same = steps.filter(({phase}) => phase === step.phase);
      step.inPhase = same.indexOf(step) + 1;
      step.ofPhase = same.length;
      for (const message of step.messages) {
        if (isEmpty) Object.assign(message, {first: 0, count: 1});
        message.sums = table[message.from].slice(message.first, message.first + message.count);
      }
      step.turns = turnsOf(step.messages);
      for (const [turn, messages] of step.turns.entries()) {
        table = table.map(row => [...row]);
        for (const {to, first, adds, sums} of messages) sums.forEach((sum, i) => { table[to][first + i] = adds ? table[to][first + i] + sum : sum; });
        turns.push({step: index, turn, messages, after: table});
      }
    }
    return {collective, topology, worldSize, partCount, steps, start, turns};
  }

  // --- Bytes and time ---

  const bytesOf = (schedule, message, bytes) => (schedule.collective === 'barrier' ? 0 : message.count * bytes / schedule.worldSize);

  // What each rank sends and receives in some messages.
  function trafficOf(schedule, messages, bytes) {
    const traffic = ranksOf(schedule.worldSize).map(() => ({sent: 0, received: 0, messages: 0}));
    for (const message of messages) {
      traffic[message.from].sent += bytesOf(schedule, message, bytes);
      traffic[message.from].messages += 1;
      traffic[message.to].received += bytesOf(schedule, message, bytes);
    }
    return traffic;
  }

  const busiest = traffic => Math.max(...traffic.map(({sent, received}) => Math.max(sent, received)));

  // Steps wait for one another and cost an alpha each; bytes count at the busiest port, in one direction.
  function costOf(schedule, bytes, link) {
    const perStep = schedule.steps.map(step => busiest(trafficOf(schedule, step.messages, bytes)));
    const latencySeconds = perStep.length * link.alphaSeconds, bytesSeconds = perStep.reduce((sum, each) => sum + each, 0) / link.bytesPerSecond;
    return {steps: perStep.length, perStep, oneWayBytes: busiest(trafficOf(schedule, schedule.steps.flatMap(({messages}) => messages), bytes)),
            stepSeconds: perStep.map(each => link.alphaSeconds + each / link.bytesPerSecond), latencySeconds, bytesSeconds, seconds: latencySeconds + bytesSeconds};
  }

  const api = {collectives, topologies, kRoot, scheduleOf, goalOf, isResult, trafficOf, costOf};
  if (typeof module === 'object' && module.exports) module.exports = api;
  else (globalThis.Lockstep ??= {}).collectiveModel = api;
})();
