// Schedules of a pipeline as lists of actions, and the times of their actions (chapters/11_pipeline_parallel/schedules). Pure: a
// page and node load it.
'use strict';

(function () {
  const isNode = typeof module === 'object' && module.exports;

  const upTo = n => [...Array(n).keys()];
  const passes = (pass, rank, microBatches) => upTo(microBatches).map(microBatch => ({pass, rank, microBatch}));

  // `lead` forward passes, then one forward and one backward pass in turn, then the backward passes that are left.
  function inTurn(rank, microBatches, lead) {
    const forwards = passes('F', rank, microBatches), backwards = passes('B', rank, microBatches);
    const actions = forwards.slice(0, lead), turns = forwards.slice(lead).flatMap((forward, i) => [forward, backwards[i]]);
    return [...actions, ...turns, ...backwards.slice(microBatches - actions.length)];
  }

  // What a rank does before its turns: nothing, everything, or a pass for each rank after it.
  const leads = {naive: () => 0, gpipe: (p, m) => m, '1f1b': (p, m, rank) => Math.min(m, p - 1 - rank)};
  const kinds = [['naive', 'naive: one micro-batch at a time'], ['gpipe', 'GPipe: all forward, then all backward'], ['1f1b', '1F1B: one forward, one backward']];

  // By rank: its actions in their order.
  const scheduleOf = (kind, ranks, microBatches) => upTo(ranks).map(rank => inTurn(rank, microBatches, leads[kind](ranks, microBatches, rank)));

  const keyOf = ({pass, rank, microBatch}) => `${pass}${microBatch} ${rank}`;

  // Whose results from another rank an action needs. (Its own forward pass comes earlier in the same list.)
  function inputOf({pass, rank, microBatch}, ranks) {
    const from = pass === 'F' ? rank - 1 : rank + 1;
    return from < 0 || from >= ranks ? null : keyOf({pass, rank: from, microBatch});
  }

  // Each action begins as soon as the ones before it on its rank are done and its input is there.
  // costs: {forward, backward, message}. Throws if ranks wait for each other.
  function timesOf(schedule, costs) {
    const ranks = schedule.length, ends = new Map(), timed = schedule.map(() => []), free = schedule.map(() => 0);
    const isReady = action => { const input = inputOf(action, ranks); return input === null || ends.has(input); };
    for (let left = schedule.flat().length; left > 0; --left) {
      const rank = upTo(ranks).find(r => timed[r].length < schedule[r].length && isReady(schedule[r][timed[r].length]));
      if (rank === undefined) throw new Error('ranks wait for each other');
      const action = schedule[rank][timed[rank].length], input = inputOf(action, ranks);
      const begin = Math.max(free[rank], input === null ? 0 : ends.get(input) + costs.message);
      const end = begin + (action.pass === 'F' ? costs.forward : costs.backward);
      ends.set(keyOf(action), end);
      free[rank] = end;
      timed[rank].push({...action, begin, end});
    }
    return timed;
  }

  // The most micro-batches whose activations a rank keeps at once: from the beginning of the forward pass to the end of
  // the backward pass.
  function mostHeldBy(actions) {
    let held = 0, most = 0;
    for (const {pass} of actions) {
      held += pass === 'F' ? 1 : -1;
      most = Math.max(most, held);
    }
    return most;
  }

  const sumOf = list => list.reduce((sum, each) => sum + each, 0);

  // duration; idlePerBusy, of all ranks together; mostHeld, by rank; messages from rank to rank.
  function timelineOf(kind, ranks, microBatches, costs) {
    const timed = timesOf(scheduleOf(kind, ranks, microBatches), costs), all = timed.flat();
    const duration = Math.max(...all.map(({end}) => end)), busy = sumOf(all.map(({begin, end}) => end - begin));
    return {kind, ranks: timed, duration, idlePerBusy: duration * ranks / busy - 1, mostHeld: timed.map(mostHeldBy), messages: 2 * (ranks - 1) * microBatches};
  }

  // What rank r does at time t (null: it waits), and whose micro-batches it holds.
  function momentOf(timed, t) {
    const action = timed.find(({begin, end}) => begin <= t && t < end) ?? null, held = new Set();
    for (const {pass, microBatch, begin, end} of timed) {
      if (pass === 'F' && begin <= t) held.add(microBatch);
      if (pass === 'B' && end <= t) held.delete(microBatch);
    }
    return {action, held: [...held]};
  }

  const api = {kinds, scheduleOf, timelineOf, momentOf};
  if (isNode) module.exports = api;
  else (globalThis.Lockstep ??= {}).pipelineModel = api;
})();
