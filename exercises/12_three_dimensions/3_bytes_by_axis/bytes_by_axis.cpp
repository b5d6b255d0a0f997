#include "12_three_dimensions/3_bytes_by_axis/bytes_by_axis.hpp"

namespace lockstep::bytes_by_axis {

BytesByAxis bytes_sent(const GridRun& run, std::int64_t stage) {
  // TODO(12.3): count elements axis by axis, and multiply by 4
  lockstep::todo("12.3 bytes_sent");
}

}  // namespace lockstep::bytes_by_axis
