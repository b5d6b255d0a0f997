#include "10_tensor_parallel/1_column_row/column_row.hpp"

namespace lockstep::tensor_parallel {

MlpShare share_of(const Mlp& whole, int rank, int ranks) {
  // SOLUTION(10.1) share_of: this rank's columns of the first matrix, and the rows of the second that belong to them
  const std::int64_t channels = whole.wide.rows, all = whole.wide.columns;
  const std::int64_t first = all * rank / ranks, end = all * (rank + 1) / ranks;
  MlpShare share{.first_hidden = first,
                 .all_hidden = all,
                 .wide = Matrix::zeros(channels, end - first),
                 .wide_bias = {whole.wide_bias.begin() + first, whole.wide_bias.begin() + end},
                 .narrow = Matrix::zeros(end - first, channels),
                 .narrow_bias = whole.narrow_bias};
  for (std::int64_t h = first; h < end; ++h) {
    for (std::int64_t c = 0; c < channels; ++c) {
      share.wide.at(c, h - first) = whole.wide.at(c, h);
      share.narrow.at(h - first, c) = whole.narrow.at(h, c);
    }
  }
  return share;
  // END SOLUTION
}

Matrix forward(const Samples& samples, const MlpShare& share, const Seeds& seeds, Collectives& group) {
  // SOLUTION(10.1) forward: two products without communication in between, then the sum; what is added once comes last
  Matrix hidden = product(samples.of(0, 1), share.wide);
  add_bias(hidden, share.wide_bias);
  relu(hidden);
  drop(hidden, seeds.hidden, share.first_hidden, share.all_hidden);
  Matrix output = product(hidden, share.narrow);
  group.all_reduce(output.elements).synchronize();
  add_bias(output, share.narrow_bias);
  drop(output, seeds.output, 0, output.columns);
  return output;
  // END SOLUTION
}

}  // namespace lockstep::tensor_parallel
