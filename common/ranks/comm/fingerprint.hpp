#pragma once
/// @file
/// A rank's current collective in sixteen bytes, which ranks compare to detect mismatches.
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

/// Whether only two ranks take part: send and recv. They are numbered separately from the collectives, per pair and
/// direction.
[[nodiscard]] constexpr bool is_point_to_point(Collective collective) noexcept {
  return collective == Collective::kSend || collective == Collective::kRecv;
}

/// The caller's label of a call ("unit h.3"). Ranks compare its hash, in bytes of the fingerprint that are zero without
/// a label. The text itself is sent only through the control plane, for messages; they show the hash if the text is not
/// known (a send that has ended).
class CallTag {
 public:
  /// Maximum length; short, because it is copied with every fingerprint.
  static constexpr std::size_t kMaxBytes = 47;

  CallTag() = default;  ///< None.
  /// @param text  Empty: no tag. @throws ContractError  is_possible(text) is false.
  explicit CallTag(std::string_view text);
  /// Whether it is at most kMaxBytes of printable ASCII.
  [[nodiscard]] static bool is_possible(std::string_view text) noexcept;
  /// A tag with a known hash but no text. @pre  hash() returned this hash.
  [[nodiscard]] static CallTag of_hash(std::uint32_t hash) noexcept;

  /// Whether there is one.
  [[nodiscard]] bool is_given() const noexcept { return hash_ != 0; }
  /// 24 bits, the lowest eight not all 0; 0: no tag.
  [[nodiscard]] std::uint32_t hash() const noexcept { return hash_; }
  /// Empty if only the hash is known.
  [[nodiscard]] std::string_view text() const noexcept { return {text_.data(), size_}; }
  /// Compares hashes: two different texts collide once in 16 million.
  bool operator==(const CallTag& other) const noexcept { return hash_ == other.hash_; }

 private:
  std::uint32_t hash_ = 0;
  std::uint8_t size_ = 0;
  std::array<char, kMaxBytes> text_{};
};

/// Must be equal on all ranks of a group for call number `sequence`; for send and recv, on both ranks.
struct Fingerprint {
  std::uint64_t sequence = 0;  ///< In a frame this is FrameHeader::sequence; the other members are the frame's tag.
  Collective collective = Collective::kBarrier;
  ReduceOp op = ReduceOp::kSum;  ///< kSum if the collective has none.
  DType dtype = DType::kUInt8;   ///< kUInt8 if there are no elements.
  std::int32_t root = 0;         ///< 0 if there is none; for a send or recv, the peer.
  std::int64_t count = 0;        ///< Elements that one rank contributes (scatter, reduce_scatter: gets).
  CallTag tag{};                 ///< The caller's label, if any.

  bool operator==(const Fingerprint&) const = default;
};

/// The bytes of a frame's tag; they contain the hash of the call's own tag.
[[nodiscard]] net::FrameTag to_tag(const Fingerprint& fingerprint) noexcept;
/// @throws FormatError  The tag names no collective, operation or dtype.
[[nodiscard]] Fingerprint from_tag(std::uint64_t sequence, const net::FrameTag& tag);

/// "all_reduce #14", with a tag "all_gather #212 (unit h.3)".
[[nodiscard]] std::string short_name(const Fingerprint& fingerprint);
/// "all_reduce #14 (sum of 1000 float32)", "broadcast #3 (20 int64 from rank 1)", "barrier #5"; with a tag "all_gather
/// #212 (unit h.3; 1000 float32 from each rank)".
[[nodiscard]] std::string describe(const Fingerprint& fingerprint);

}  // namespace lockstep::comm
