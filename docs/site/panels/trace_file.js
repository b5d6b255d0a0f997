// Reads the traces that runs leave (trace_rank0.json, ...; common/ranks/trace/trace_file.cpp): Chrome's trace event format, and
// under the key "lockstep" what that has no place for. Pure: a page and node load it.
'use strict';

(function () {
  const kCategories = ['data', 'forward', 'backward', 'communication', 'wait', 'optimizer', 'checkpoint', 'other'];

  class TraceError extends Error {}

  function check(condition, message) {
    if (!condition) throw new TraceError(message);
  }

  const isWhole = value => Number.isSafeInteger(value);

  function parseJson(text) {
    check(text.trim() !== '', 'the file is empty.');
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new TraceError(`it is not JSON, or it was cut off (${error.message}).`);
    }
  }

  function rankOf(entry, index) {
    check(isWhole(entry?.rank) && Array.isArray(entry.lanes), `entry ${index} below "lockstep" has no rank or no lanes.`);
    return {rank: entry.rank, lanes: entry.lanes.map(String), wallOffsetNs: Number(entry.wall_offset_ns) || 0,
            bootId: String(entry.boot_id ?? ''), dropped: Number(entry.dropped_spans) || 0, spans: []};
  }

  function spanOf(event, index, rank) {
    const args = event.args ?? {};
    const lane = rank.lanes[event.tid];
    check(lane !== undefined, `event ${index} is on lane ${event.tid}, which rank ${rank.rank} does not have.`);
    const begin = args.begin_ns, end = args.end_ns;
    check(Number.isFinite(begin) && Number.isFinite(end), `event ${index} ("${event.name}") has no begin_ns and end_ns.`);
    check(end >= begin, `event ${index} ("${event.name}") ends before it begins.`);
    return {name: String(event.name), category: kCategories.includes(event.cat) ? event.cat : 'other', lane,
            step: Number(args.step) || 0, beginNs: begin, endNs: end};
  }

  // The ranks of one file. Throws a TraceError whose message is a sentence for the reader.
  function parse(text, name = 'the file') {
    try {
      const file = parseJson(text);
      check(file !== null && typeof file === 'object' && Array.isArray(file.traceEvents),
            'it has no list "traceEvents", so it is no trace.');
      check(Array.isArray(file.lockstep) && file.lockstep.length > 0,
            'it has no entry "lockstep": another program wrote it.');
      const ranks = file.lockstep.map(rankOf);
      const byRank = new Map(ranks.map(rank => [rank.rank, rank]));
      file.traceEvents.forEach((event, index) => {
        if (event?.ph !== 'X') return;
        const rank = byRank.get(event.pid);
        check(rank !== undefined, `event ${index} belongs to rank ${event.pid}, which the file does not list.`);
        rank.spans.push(spanOf(event, index, rank));
      });
      return ranks;
    } catch (error) {
      if (error instanceof TraceError) throw new TraceError(`${name} cannot be used: ${error.message}`);
      throw error;
    }
  }

  // Ranks of several files on one time axis that begins at 0: by their common steady clock where they share a host, else
  // by wall clock.
  function align(ranks) {
    const spans = ranks.flatMap(rank => rank.spans);
    if (spans.length === 0) throw new TraceError('The trace has no spans: nothing was recorded.');
    const seen = new Set();
    for (const {rank} of ranks) {
      if (seen.has(rank)) throw new TraceError(`Rank ${rank} is in two files. Choose the files of one run only.`);
      seen.add(rank);
    }
    const oneClock = ranks.every(rank => rank.bootId !== '' && rank.bootId === ranks[0].bootId);
    const shift = rank => (oneClock ? 0 : rank.wallOffsetNs);
    let origin = Infinity;
    for (const rank of ranks) for (const span of rank.spans) origin = Math.min(origin, span.beginNs + shift(rank));
    return ranks
        .map(rank => ({...rank, spans: rank.spans
            .map(span => ({...span, beginNs: span.beginNs + shift(rank) - origin, endNs: span.endNs + shift(rank) - origin}))
            .sort((a, b) => a.beginNs - b.beginNs)}))
        .sort((a, b) => a.rank - b.rank);
  }

  // files: [{name, text}].
  function read(files) {
    return align(files.flatMap(file => parse(file.text, file.name)));
  }

  const api = {TraceError, parse, align, read, categories: kCategories};
  if (typeof module === 'object' && module.exports) module.exports = api;
  else (globalThis.Lockstep ??= {}).traceFile = api;
})();
