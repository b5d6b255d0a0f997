#include "10_tensor_parallel/1_column_row/column_row.hpp"

namespace lockstep::tensor_parallel {

MlpShare share_of(const Mlp& whole, int rank, int ranks) {
  // TODO(10.1): this rank's columns of the first matrix, and the rows of the second that belong to them
  lockstep::todo("10.1 share_of");
}

Matrix forward(const Samples& samples, const MlpShare& share, const Seeds& seeds, Collectives& group) {
  // TODO(10.1): two products without communication in between, then the sum; what is added once comes last
  lockstep::todo("10.1 forward");
}

}  // namespace lockstep::tensor_parallel
