// The checksum of frames. Compiled here rather than linked: the installed library uses only the instructions that every
// processor of the family has, and the checksum reads each payload twice.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "net/frame.hpp"

namespace lockstep::net {

std::uint64_t checksum(std::span<const std::byte> bytes) noexcept { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace lockstep::net
