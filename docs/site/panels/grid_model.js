// Ranks on a grid of pipeline x data x tensor (chapters/12_three_dimensions/rank_grid.cpp): places, lines, hosts, the bytes that a
// rank sends on each axis in a step (exercise 12.3), and who talks when. Pure: a page and node load it.
'use strict';

(function () {
  const isNode = typeof module === 'object' && module.exports;
  const overlap = isNode ? require('./overlap_model.js') : Lockstep.overlapModel;
  const {timelineOf} = isNode ? require('./pipeline_model.js') : Lockstep.pipelineModel;

  const kValueBytes = 4, kMostListed = 4;
  const axes = ['tensor', 'data', 'pipeline'];  // from the axis that changes fastest to the slowest
  const upTo = n => [...Array(n).keys()];

  // The models of ./lockstep estimate: GptConfig::named(), and those that are published with GPT-2.
  const headsOf = {tiny: 4, small: 8, tutorial: 8, '124m': 12};
  const models = [...overlap.models.map(model => ({...model, heads: headsOf[model.name]})),
                  ...[['350m', 1024, 16, 24], ['774m', 1280, 20, 36], ['1.5b', 1600, 25, 48]].map(
                      ([name, channels, heads, blocks]) => ({name, vocabulary: 50257, channels, heads, blocks, context: 1024}))];
  const modelNamed = name => models.find(model => model.name === name);

  class GridError extends Error {}  // with the trainer's words

  function shapeOf(ranks, tensor, pipeline) {
    if (ranks % (tensor * pipeline) !== 0) {
      const fewer = ranks - ranks % (tensor * pipeline);
      throw new GridError(`${ranks} ${ranks === 1 ? 'rank is' : 'ranks are'} no multiple of --tensor ${tensor} x --pipeline ${pipeline}; use ${fewer > 0 ? `${fewer} or ` : ''}${fewer + tensor * pipeline}`);
    }
    return {pipeline, data: ranks / (tensor * pipeline), tensor};
  }

  const ranksOf = ({pipeline, data, tensor}) => pipeline * data * tensor;
  const placeOf = ({data, tensor}, rank) => ({pipeline: Math.floor(rank / (data * tensor)), data: Math.floor(rank / tensor) % data, tensor: rank % tensor});
  const rankAt = ({data, tensor}, place) => (place.pipeline * data + place.data) * tensor + place.tensor;
  const placeText = ({pipeline, data, tensor}) => `pipeline ${pipeline}, data ${data}, tensor ${tensor}`;

  const lineOf = (shape, rank, axis) => upTo(shape[axis]).map(i => rankAt(shape, {...placeOf(shape, rank), [axis]: i}));
  const linesOf = (shape, axis) => upTo(ranksOf(shape)).filter(rank => placeOf(shape, rank)[axis] === 0).map(rank => lineOf(shape, rank, axis));
  const groupName = (axis, line) => `${axis}{${line.length <= kMostListed ? line.join(',') : `${line[0]},${line[1]},...,${line.at(-1)}`}}`;

  const hostOf = (rank, ranksPerHost) => Math.floor(rank / ranksPerHost);
  const hostsOf = (line, ranksPerHost) => [...new Set(line.map(rank => hostOf(rank, ranksPerHost)))];
  const isWithinHosts = (shape, axis, ranksPerHost) => linesOf(shape, axis).every(line => hostsOf(line, ranksPerHost).length === 1);

  function requireDivisible({heads, blocks}, {tensor, pipeline}) {
    if (heads % tensor !== 0) {
      let fewer = tensor, more = tensor;
      while (heads % fewer !== 0) --fewer;
      while (more < heads && heads % more !== 0) ++more;
      throw new GridError(`${heads} heads do not divide among ${tensor} ranks; use ${fewer}${more <= heads ? ` or ${more}` : ''}`);
    }
    if (pipeline > blocks)
      throw new GridError(`${pipeline} ranks in a pipeline for ${blocks} blocks: every stage needs one; use at most ${blocks}, or a model with more blocks`);
  }

  function requireTensorOnOneHost(shape, ranksPerHost) {
    for (const line of linesOf(shape, 'tensor')) {
      const torn = line.slice(1).find(rank => hostOf(rank - 1, ranksPerHost) !== hostOf(rank, ranksPerHost));
      if (torn !== undefined)
        throw new GridError(`tensor ranks ${torn - 1}, ${torn} are on different hosts: take a --tensor that divides the number of ranks on each host`);
    }
  }

  // [begin, end) of `whole` things, of which each of `parts` has an equal share, up to one.
  const shareOf = (whole, part, parts) => [Math.floor(whole * part / parts), Math.floor(whole * (part + 1) / parts)];
  const blocksOf = ({blocks}, {pipeline}, stage) => shareOf(blocks, stage, pipeline);

  // Bytes that a rank sends in a step, by axis: float32, ZeRO 1, rows of activations whole on each tensor rank. Rounded if
  // something does not come out even. training: {microBatches, rows}, with rows of one micro-batch: samples times positions.
  function bytesOf(model, shape, {microBatches, rows}, rank) {
    const {channels: C, vocabulary: V} = model, {pipeline: P, data: D, tensor: T} = shape, place = placeOf(shape, rank);
    const isFirst = place.pipeline === 0, isLast = place.pipeline === P - 1;
    const [firstBlock, endBlock] = blocksOf(model, shape, place.pipeline), blocks = endBlock - firstBlock;
    const [firstRow, endRow] = shareOf(V, place.tensor, T), table = (endRow - firstRow) * C;

    const allReduces = 4 * blocks + (isFirst ? 1 : 0) + (isLast ? 1 : 0), loss = isLast ? 3 * rows * T : 0;
    const tensor = microBatches * (2 * allReduces * rows * C + loss) * (T - 1) / T;
    const borders = (isFirst ? 0 : 1) + (isLast ? 0 : 1), sendsTable = P > 1 && (isFirst || isLast);
    const pipeline = microBatches * borders * rows * C + (sendsTable ? table : 0);
    const matrices = 12 * C * C / T * blocks + (isFirst ? table : 0);
    const data = 2 * matrices * (D - 1) / D;
    const bytes = elements => Math.round(kValueBytes * elements);
    return {tensor: bytes(tensor), data: bytes(data), pipeline: bytes(pipeline)};
  }

  const kCosts = {forward: 1, backward: 2, message: 0};

  // A step, moment by moment. A moment of passes has, by stage, {pass, microBatch, isLast} or null; and the messages that
  // have just been sent: {from, to, pass, microBatch}. Gradients leave along data lines in a stage's last pass.
  function momentsOf({pipeline}, microBatches) {
    const {ranks, duration} = timelineOf('1f1b', pipeline, microBatches, kCosts), all = ranks.flat();
    const changes = [...new Set(all.flatMap(({begin, end}) => [begin, end]))].filter(t => t < duration).sort((a, b) => a - b);
    const passes = changes.map(t => ({kind: 'passes',
        stages: ranks.map(actions => {
          const now = actions.find(({begin, end}) => begin <= t && t < end);
          return now ? {pass: now.pass, microBatch: now.microBatch, isLast: now === actions.at(-1)} : null;
        }),
        messages: all.filter(({pass, rank, end}) => end === t && (pass === 'F' ? rank < pipeline - 1 : rank > 0))
            .map(({pass, rank, microBatch}) => ({pass, microBatch, from: rank, to: pass === 'F' ? rank + 1 : rank - 1}))}));
    return [{kind: 'overview'}, ...passes, {kind: 'norm'}, {kind: 'update'}, {kind: 'gather'}, ...(pipeline > 1 ? [{kind: 'table'}] : [])];
  }

  // Whether a line talks at a moment.
  function talks(shape, moment, axis, line) {
    if (line.length === 1) return false;
    const stage = placeOf(shape, line[0]).pipeline;
    switch (moment.kind) {
      case 'overview': return true;
      case 'passes':
        if (axis === 'pipeline') return moment.messages.length > 0;
        return axis === 'tensor' ? moment.stages[stage] !== null : Boolean(moment.stages[stage]?.isLast);
      case 'gather': return axis === 'data';
      case 'table': return axis === 'pipeline';
      default: return false;
    }
  }

  const api = {axes, models, modelNamed, GridError, shapeOf, ranksOf, placeOf, rankAt, placeText, lineOf, linesOf, groupName, hostOf, hostsOf,
               isWithinHosts, requireDivisible, requireTensorOnOneHost, blocksOf, bytesOf, momentsOf, talks};
  if (isNode) module.exports = api;
  else Lockstep.gridModel = api;
})();
