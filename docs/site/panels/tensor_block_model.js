// One block of a GPT on several ranks that compute the same rows together (chapters/10_tensor_parallel): its operations and
// collectives in order, forward and backward, and what each rank holds and sends. Pure: a page and node load it.
'use strict';

(function () {
  const isNode = typeof module === 'object' && module.exports;
  const {modelNamed, models} = isNode ? require('./overlap_model.js') : Lockstep.overlapModel;

  const kValueBytes = 4;
  const kHalves = {'all-reduce': 2, 'all-gather': 1, 'reduce-scatter': 1};  // an all-reduce is both halves

  // Matrices and vectors of a block: c_attn, c_proj, c_fc, c_proj; both norms and the four biases.
  const matrixElements = C => 12 * C * C;
  const parameterElements = C => matrixElements(C) + 13 * C;

  // The two pairs of products of a block; norms, dropout and residual sums belong to the stream.
  const pairs = [{pair: 'attention', norm: 'ln_1', work: 'c_attn, the heads and c_proj'},
                 {pair: 'the MLP', norm: 'ln_2', work: 'c_fc, GELU and c_proj'}];

  const collective = (pass, pair, kind, carries) => ({kind, pass, pair, carries, is: 'collective'});
  const compute = (pass, pair, text, holds) => ({kind: 'compute', pass, pair, text, holds, is: 'compute'});

  // Without sequence parallelism: every rank has all rows of the stream.
  function tensorForward({pair, norm, work}) {
    return [compute('forward', pair, norm, 'whole'), compute('forward', pair, work, 'columns'),
            collective('forward', pair, 'all-reduce', 'terms of the output')];
  }

  function tensorBackward({pair, norm, work}) {
    return [compute('backward', pair, work, 'columns'), collective('backward', pair, 'all-reduce', 'terms of the gradient of the input'),
            compute('backward', pair, norm, 'whole')];
  }

  // With it: each rank has some rows of the stream, and the two halves of the sum lie around norm and dropout.
  function sequenceForward({pair, norm, work}) {
    return [compute('forward', pair, norm, 'rows'), collective('forward', pair, 'all-gather', 'rows of the normalized stream'),
            compute('forward', pair, work, 'columns'), collective('forward', pair, 'reduce-scatter', 'terms of the output')];
  }

  function sequenceBackward({pair, norm, work}) {
    return [collective('backward', pair, 'all-gather', 'rows of the output\u2019s gradient'),
            collective('backward', pair, 'all-gather', 'rows of the normalized stream once more, for the gradients of the weights'),
            compute('backward', pair, work, 'columns'), collective('backward', pair, 'reduce-scatter', 'terms of the gradient of the input'),
            compute('backward', pair, norm, 'rows')];
  }

  function eventsOf(isSequence) {
    const [forward, backward] = isSequence ? [sequenceForward, sequenceBackward] : [tensorForward, tensorBackward];
    return [...pairs.flatMap(forward), ...[...pairs].reverse().flatMap(backward)];
  }

  // channels C, rows R: samples times positions. On one rank nothing is sent. `sent`: bytes that one rank has sent before
  // the event ends.
  function blockOf({channels: C, rows: R, worldSize: t, isSequence}) {
    let sent = 0;
    const share = (t - 1) / t;
    const events = eventsOf(isSequence).map(event => {
      const bytes = event.is === 'collective' ? kHalves[event.kind] * kValueBytes * R * C * share : 0;
      sent += bytes;
      return {...event, bytes, sent};
    });
    const numberOf = kind => events.filter(event => event.kind === kind).length;
    return {events, sent, matrixBytes: kValueBytes * matrixElements(C) / t, streamBytes: kValueBytes * R * C / (isSequence ? t : 1),
            allReduces: numberOf('all-reduce'), allGathers: numberOf('all-gather'), reduceScatters: numberOf('reduce-scatter'),
            sentByDdp: 2 * kValueBytes * parameterElements(C) * share};
  }

  // The rows at which one block sends as much as DDP does for its gradients.
  const rowsLikeDdp = C => 2 * parameterElements(C) / (8 * C);

  const api = {models, modelNamed, blockOf, rowsLikeDdp};
  if (isNode) module.exports = api;
  else (globalThis.Lockstep ??= {}).tensorBlockModel = api;
})();
