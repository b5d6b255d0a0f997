#pragma once
/// @file
/// Which collective a rank is in, in sixteen bytes: what ranks compare to find out that they disagree.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/dtype.hpp"
#include "net/frame.hpp"

namespace lockstep::comm {

/// How two elements become one. `kMean` is `kSum`, then one division by world_size().
enum class ReduceOp : std::uint8_t { kSum = 0, kProduct = 1, kMin = 2, kMax = 3, kMean = 4 };

/// "sum", "product", "min", "max", "mean".
[[nodiscard]] std::string_view name_of(ReduceOp op) noexcept;

/// The collectives, as fingerprints and the flight recorder name them. Values appear on the wire; never renumber.
enum class Collective : std::uint8_t {
  kAllReduce = 0,
  kBroadcast = 1,
  kBarrier = 2,
  kReduce = 3,
  kAllGather = 4,
  kReduceScatter = 5,
  kGather = 6,
  kScatter = 7,
  kAllToAll = 8,
  kSend = 9,
  kRecv = 10,
};

/// "all_reduce", "broadcast", "barrier", "reduce", "all_gather", ...
[[nodiscard]] std::string_view name_of(Collective collective) noexcept;

/// Whether only two ranks take part: send and recv. They are numbered apart from the collectives, per pair and
/// direction.
[[nodiscard]] constexpr bool is_point_to_point(Collective collective) noexcept {
  return collective == Collective::kSend || collective == Collective::kRecv;
}

/// What a call is about, in the caller's words ("unit h.3"). Ranks compare a hash of it, in bytes of the fingerprint
/// that are zero without it; the words themselves travel beside the data only, for messages, which show the hash where
/// they are not known (of a send that is done).
class CallTag {
 public:
  /// Longest text: it is copied with every fingerprint.
  static constexpr std::size_t kMaxBytes = 47;

  CallTag() = default;  ///< None.
  /// @param text  Empty: none. @throws ContractError  It is none, as is_possible() says.
  explicit CallTag(std::string_view text);
  /// Whether it is at most kMaxBytes of printable ASCII.
  [[nodiscard]] static bool is_possible(std::string_view text) noexcept;
  /// A tag of which only the hash is known. @pre  A hash that hash() has returned.
  [[nodiscard]] static CallTag of_hash(std::uint32_t hash) noexcept;

  /// Whether there is one.
  [[nodiscard]] bool is_given() const noexcept { return hash_ != 0; }
  /// 24 bits, of which the lowest eight are not 0; 0: there is no tag.
  [[nodiscard]] std::uint32_t hash() const noexcept { return hash_; }
  /// As given; empty if only the hash is known.
  [[nodiscard]] std::string_view text() const noexcept { return {text_.data(), size_}; }
  /// By hash: different texts have the same one once in 16 million times.
  bool operator==(const CallTag& other) const noexcept { return hash_ == other.hash_; }

 private:
  std::uint32_t hash_ = 0;
  std::uint8_t size_ = 0;
  std::array<char, kMaxBytes> text_{};
};

/// What must be equal on all ranks of a group for call number `sequence`; for send and recv, on both ranks.
struct Fingerprint {
  std::uint64_t sequence = 0;                    ///< In a frame this is FrameHeader::sequence; the rest is the tag.
  Collective collective = Collective::kBarrier;  ///< Which operation.
  ReduceOp op = ReduceOp::kSum;                  ///< kSum where the collective has none.
  DType dtype = DType::kUInt8;                   ///< kUInt8 where there are no elements.
  std::int32_t root = 0;                         ///< 0 where there is none; of a send or recv the peer.
  std::int64_t count = 0;  ///< Elements that one rank contributes (scatter, reduce_scatter: gets).
  CallTag tag{};           ///< What the caller has called it, if anything.

  bool operator==(const Fingerprint&) const = default;
};

/// The bytes that stand in a frame's tag: of the call's own tag its hash.
[[nodiscard]] net::FrameTag to_tag(const Fingerprint& fingerprint) noexcept;
/// @throws FormatError  The tag names no collective, operation or dtype.
[[nodiscard]] Fingerprint from_tag(std::uint64_t sequence, const net::FrameTag& tag);

/// "all_reduce #14", with a tag "all_gather #212 (unit h.3)".
[[nodiscard]] std::string short_name(const Fingerprint& fingerprint);
/// "all_reduce #14 (sum of 1000 float32)", "broadcast #3 (20 int64 from rank 1)", "barrier #5"; with a tag "all_gather
/// #212 (unit h.3; 1000 float32 from each rank)".
[[nodiscard]] std::string describe(const Fingerprint& fingerprint);

}  // namespace lockstep::comm
