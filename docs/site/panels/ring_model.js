// A ring all-reduce that really ran, from a trace, and what each rank holds. The schedule is that of
// chapters/02_ring_all_reduce/ring_schedule.hpp. Pure: a page and node load it.
'use strict';

(function () {
  const wrap = (value, worldSize) => ((value % worldSize) + worldSize) % worldSize;

  // Elements of chunk `index`: the first total % worldSize chunks have one more.
  function chunkOf(total, index, worldSize) {
    const smaller = Math.floor(total / worldSize), larger = total % worldSize;
    return {begin: index * smaller + Math.min(index, larger), count: smaller + (index < larger ? 1 : 0)};
  }

  // Step `step` of both phases together, 0 .. 2 (P-1) - 1: which chunk `rank` sends.
  function sendsInStep(rank, step, worldSize) {
    const others = worldSize - 1;
    return step < others ? wrap(rank - step, worldSize) : wrap(rank + 1 - (step - others), worldSize);
  }
  const receivesInStep = (rank, step, worldSize) => sendsInStep(wrap(rank - 1, worldSize), step, worldSize);
  const isReduceScatter = (step, worldSize) => step < worldSize - 1;

  // Rank r contributes 8^r: digit r of a sum in base 8 says how often rank r was counted.
  const contributionOf = rank => 8 ** rank;
  const timesCounted = (sum, rank) => Math.floor(sum / 8 ** rank) % 8;
  function digitsOf(sum, worldSize) {
    let text = '';
    for (let rank = 0; rank < worldSize; ++rank) {
      const times = timesCounted(sum, rank);
      text += times === 0 ? '.' : times === 1 ? String(rank) : '!';
    }
    return text;
  }

  // What every rank holds of every chunk at the start and after each step: tables[step][rank][chunk].
  function tablesOf(worldSize) {
    const ranks = [...Array(worldSize).keys()];
    const tables = [ranks.map(rank => ranks.map(() => contributionOf(rank)))];
    for (let step = 0; step < 2 * (worldSize - 1); ++step) {
      const before = tables.at(-1), after = before.map(row => [...row]);
      for (const rank of ranks) {
        const receiver = wrap(rank + 1, worldSize), chunk = sendsInStep(rank, step, worldSize);
        if (isReduceScatter(step, worldSize)) after[receiver][chunk] += before[rank][chunk];
        else after[receiver][chunk] = before[rank][chunk];
      }
      tables.push(after);
    }
    return tables;
  }

  // What each rank holds at a moment: a chunk counts as arrived with its last segment. Also which cells are new, where
  // `since` is the moment of the stop before.
  function holdingsAt(worldSize, events, time, since = -1) {
    const tolerance = 1e-12 + Math.abs(time) * 1e-9, tables = tablesOf(worldSize);
    const table = tables[0].map(row => [...row]), isNew = table.map(row => row.map(() => false));
    const arrivals = new Map();
    for (const event of events) {
      const key = `${event.step}/${event.to}`, entry = arrivals.get(key) ?? {...event, count: 0, end: 0};
      entry.count += 1;
      entry.end = Math.max(entry.end, event.end);
      arrivals.set(key, entry);
    }
    const complete = [...arrivals.values()].filter(entry => entry.end <= time + tolerance && entry.count === entry.segments);
    complete.sort((a, b) => a.step - b.step);
    for (const {step, to, from, chunk, end} of complete) {
      const sent = tables[step][from][chunk];
      table[to][chunk] = isReduceScatter(step, worldSize) ? table[to][chunk] + sent : sent;
      isNew[to][chunk] = end > since + tolerance;
    }
    return {table, isNew};
  }

  // --- What really happened ---

  class ReplayError extends Error {}
  const kCall = /^all_reduce #(\d+)(?: .*)? \((\w+) of (\d+) (\w+)\)$/;
  const kMessage = /^(send|receive) (\d+) bytes (?:to|from) rank (\d+)$/;
  const kTypeBytes = {float64: 8, int64: 8, float32: 4, int32: 4, bfloat16: 2, float16: 2};

  // The all-reduces that every rank of the trace has, in order: {name, count, op, dtype, spans by rank}.
  function callsOf(ranks) {
    const calls = new Map();
    ranks.forEach((rank, index) => {
      for (const span of rank.spans) {
        const match = span.lane === 'communication' ? kCall.exec(span.name) : null;
        if (!match) continue;
        const call = calls.get(span.name) ?? {name: span.name, op: match[2], count: Number(match[3]), dtype: match[4],
                                              spans: []};
        call.spans[index] ??= span;
        calls.set(span.name, call);
      }
    });
    return [...calls.values()].filter(call => ranks.every((_, index) => call.spans[index]));
  }

  // The messages of one direction of a rank in a call, cut into the steps of the ring.
  function stepsOfMessages(messages, rank, call, worldSize, verb) {
    const width = kTypeBytes[call.dtype], steps = [];
    let next = 0;
    for (let step = 0; step < 2 * (worldSize - 1); ++step) {
      const chunk = (verb === 'send' ? sendsInStep : receivesInStep)(rank, step, worldSize);
      const expected = chunkOf(call.count, chunk, worldSize).count * width, segments = [];
      let bytes = 0;
      do {
        if (next === messages.length || bytes + messages[next].bytes > expected) {
          throw new ReplayError(`Rank ${rank}'s messages in ${call.name} are not those of a ring over ${worldSize} ranks ` +
              `(step ${step + 1}: expected to ${verb} ${expected} bytes). Was it another algorithm?`);
        }
        bytes += messages[next].bytes;
        segments.push(messages[next++]);
      } while (bytes < expected);
      steps.push({chunk, segments});
    }
    return steps;
  }

  function messagesIn(rank, span) {
    return rank.spans.filter(each => each.lane === 'messages' && each.beginNs >= span.beginNs && each.endNs <= span.endNs)
        .map(each => ({match: kMessage.exec(each.name), begin: each.beginNs, end: each.endNs}))
        .filter(each => each.match)
        .map(({match, begin, end}) => ({verb: match[1], bytes: Number(match[2]), peer: Number(match[3]), begin, end}));
  }

  // The events of one all-reduce of a trace, in seconds since its first rank entered. hasMessages is false where the
  // trace has the call only: the ranks shared memory, or messages were not recorded.
  function replayOf(ranks, call) {
    const worldSize = ranks.length;
    if (worldSize < 2 || worldSize > 8) {
      throw new ReplayError(`The panel draws 2 to 8 ranks; these files have ${worldSize}. Choose all files of one run.`);
    }
    ranks.forEach((rank, index) => {
      if (rank.rank !== index) throw new ReplayError(`The trace of rank ${index} is missing. Choose all files of the run.`);
    });
    if (!kTypeBytes[call.dtype]) throw new ReplayError(`The panel does not know the type ${call.dtype} of ${call.name}.`);
    const origin = Math.min(...call.spans.map(span => span.beginNs));
    const seconds = ns => (ns - origin) / 1e9;
    const spans = call.spans.map(span => ({begin: seconds(span.beginNs), end: seconds(span.endNs)}));
    const end = Math.max(...spans.map(span => span.end));
    const bytes = call.count * kTypeBytes[call.dtype];
    const messages = ranks.map((rank, index) => messagesIn(rank, call.spans[index]));
    const replay = {worldSize, bytes, spans, end, events: [], hasMessages: messages.every(each => each.length > 0)};
    if (!replay.hasMessages) return replay;
    const sent = messages.map((each, rank) =>
        stepsOfMessages(each.filter(({verb}) => verb === 'send'), rank, call, worldSize, 'send'));
    const received = messages.map((each, rank) =>
        stepsOfMessages(each.filter(({verb}) => verb === 'receive'), rank, call, worldSize, 'receive'));
    const tables = tablesOf(worldSize);
    for (let step = 0; step < 2 * (worldSize - 1); ++step) {
      for (let from = 0; from < worldSize; ++from) {
        const to = wrap(from + 1, worldSize), {chunk, segments} = sent[from][step], arriving = received[to][step].segments;
        if (arriving.length !== segments.length) {
          throw new ReplayError(`Rank ${from} sent ${segments.length} messages in step ${step + 1}, and rank ${to} ` +
              `received ${arriving.length}. Are the files of one run?`);
        }
        segments.forEach((segment, index) => replay.events.push({
          from, to, chunk, step, segment: index, segments: segments.length, bytes: segment.bytes,
          begin: seconds(segment.begin), end: Math.max(seconds(arriving[index].end), seconds(segment.begin)),
          sum: tables[step][from][chunk]}));
      }
    }
    return replay;
  }

  const api = {wrap, chunkOf, sendsInStep, receivesInStep, isReduceScatter, digitsOf, timesCounted, tablesOf, holdingsAt, callsOf, replayOf, ReplayError};
  if (typeof module === 'object' && module.exports) module.exports = api;
  else (globalThis.Lockstep ??= {}).ringModel = api;
})();
